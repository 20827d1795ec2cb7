/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.shardflake.adoption.AdoptionPlan.Changelogs;
import org.shardflake.adoption.AdoptionPlan.Goes;
import org.shardflake.adoption.AdoptionPlan.Ids;
import org.shardflake.adoption.AdoptionPlan.LeftOut;
import org.shardflake.adoption.AdoptionPlan.Lookup;
import org.shardflake.adoption.AdoptionPlan.Source;
import org.shardflake.adoption.AdoptionPlan.Step;
import org.shardflake.adoption.AdoptionPlan.Table;
import org.shardflake.yaml.TextFile;
import org.shardflake.yaml.YamlLines;
import org.shardflake.yaml.YamlNode;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;

/**
 * A plan as a YAML file, which people review, edit and keep in version control.
 *
 * <pre>
 * version: 1
 * source:
 *   database: app
 *   schemas: [public]
 * key: {table: users, column: id}
 * tables:
 *   users: {goes: shards, key: id, id: next_id}
 *   orders: {goes: shards, key: user_id, id: next_id}
 *   items:
 *     goes: shards
 *     path:
 *     - columns: [order_id]
 *       to: orders
 *       toColumns: [id]
 *     add: user_id
 *   countries: {goes: reference}
 *   jobs: {goes: stays}
 * lookups:
 *   users.email: {table: users, columns: [email], unique: true}
 * changelogs: {shards: shards.sql, reference: reference.sql}
 * leftOut:
 * - {table: items, problem: ..., remedy: ...}
 * </pre>
 *
 * <p>Names of tables and columns are as in SQL: in double quotes if they have capital letters, blanks or dots.
 */
public final class AdoptionPlanFile {

    /** The name of the file with the JSON schema of plans, for editors. */
    public static final String SCHEMA_FILE = "adoption.schema.json";

    private static final int VERSION = 1;
    private static final String COMMENT = "# yaml-language-server: $schema=" + SCHEMA_FILE + "\n";

    private AdoptionPlanFile() {}

    /** The JSON schema of plans. */
    public static String schema() {
        try (InputStream text = Objects.requireNonNull(AdoptionPlanFile.class.getResourceAsStream(SCHEMA_FILE))) {
            return new String(text.readAllBytes(), UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The plan as the text of a file. */
    public static String format(AdoptionPlan plan) {
        return format(properties(plan));
    }

    static String format(Map<?, ?> properties) {
        return COMMENT
                + new Dump(DumpSettings.builder()
                                .setDefaultFlowStyle(FlowStyle.AUTO)
                                .setWidth(Integer.MAX_VALUE)
                                .build())
                        .dumpToString(properties);
    }

    /** The plan as maps, lists and plain values. */
    public static Map<String, Object> properties(AdoptionPlan plan) {
        Map<String, Object> root = new LinkedHashMap<>();
        root.put("version", VERSION);
        root.put(
                "source",
                properties(
                        "database",
                        plan.source().database(),
                        "schemas",
                        plan.source().schemas()));
        root.put(
                "key",
                properties(
                        "table",
                        text(plan.key().table()),
                        "column",
                        TableName.written(plan.key().column())));
        Map<String, Object> tables = new LinkedHashMap<>();
        plan.tables().forEach(table -> tables.put(table.name().toString(), properties(table)));
        root.put("tables", tables);
        Map<String, Object> lookups = new LinkedHashMap<>();
        plan.lookups()
                .forEach(lookup -> lookups.put(
                        lookup.name(),
                        properties(
                                "table",
                                text(lookup.table()),
                                "columns",
                                written(lookup.columns()),
                                "unique",
                                lookup.isUnique())));
        root.put("lookups", lookups);
        root.put(
                "changelogs",
                properties(
                        "shards",
                        plan.changelogs().shards(),
                        "reference",
                        plan.changelogs().reference()));
        root.put(
                "leftOut",
                plan.leftOut().stream()
                        .map(one -> properties(
                                "table", text(one.table()), "problem", one.problem(), "remedy", one.remedy()))
                        .toList());
        return root;
    }

    private static Map<String, Object> properties(Table table) {
        List<Map<String, Object>> path = table.path().stream()
                .map(step -> properties(
                        "columns",
                        written(step.columns()),
                        "to",
                        text(step.to()),
                        "toColumns",
                        written(step.toColumns())))
                .toList();
        return properties(
                "goes",
                code(table.goes()),
                "into",
                written(table.into()),
                "key",
                written(table.key()),
                "path",
                path.isEmpty() ? null : path,
                "add",
                written(table.add()),
                "id",
                table.goes() == Goes.SHARDS ? code(table.ids()) : null);
    }

    /** A map of alternating names and values; null values are left out. */
    private static Map<String, Object> properties(@Nullable Object... namesAndValues) {
        Map<String, Object> properties = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            Object value = namesAndValues[i + 1];
            if (value != null) {
                properties.put(String.valueOf(namesAndValues[i]), value);
            }
        }
        return properties;
    }

    private static String code(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    private static @Nullable String text(@Nullable TableName table) {
        return table == null ? null : table.toString();
    }

    private static @Nullable String written(@Nullable String name) {
        return name == null ? null : TableName.written(name);
    }

    private static List<String> written(List<String> names) {
        return names.stream().map(TableName::written).toList();
    }

    /** Writes the file atomically: a reader never sees half of it. */
    public static void write(AdoptionPlan plan, Path file) throws IOException {
        TextFile.write(format(plan), "a plan", file);
    }

    /**
     * Reads a file.
     *
     * @throws IllegalArgumentException if it is not a plan, saying what is wrong, in which line, and what to write
     */
    public static AdoptionPlan read(Path file) throws IOException {
        return TextFile.read(file, AdoptionPlanFile::parse);
    }

    /**
     * Reads the text of a file.
     *
     * @throws IllegalArgumentException if it is not a plan, saying what is wrong, in which line, and what to write
     */
    public static AdoptionPlan parse(String yaml) {
        Object root = YamlNode.load(yaml, "plan");
        try {
            return plan(PlanNode.root(root));
        } catch (InvalidPlanException e) {
            throw new IllegalArgumentException(
                    "line %s: %s %s"
                            .formatted(
                                    YamlLines.find(yaml, e.path()),
                                    e.path().isEmpty() ? "the plan" : String.join(": ", e.path()),
                                    e.getMessage()),
                    e);
        }
    }

    private static AdoptionPlan plan(PlanNode root) {
        root.allow("version", "source", "key", "tables", "lookups", "changelogs", "leftOut");
        root.require("version", VERSION);
        PlanNode source = root.child("source").allow("database", "schemas");
        PlanNode key = root.child("key").allow("table", "column");
        PlanNode changelogs = root.child("changelogs").allow("shards", "reference");
        List<Table> tables = new ArrayList<>();
        for (PlanNode table : root.child("tables").children()) {
            tables.add(table(table));
        }
        List<Lookup> lookups = new ArrayList<>();
        if (root.has("lookups")) {
            for (PlanNode lookup : root.child("lookups").children()) {
                lookup.allow("table", "columns", "unique");
                lookups.add(new Lookup(
                        lookup.name(), lookup.table("table"), lookup.columns("columns"), lookup.isTrue("unique")));
            }
        }
        List<LeftOut> leftOut = new ArrayList<>();
        if (root.has("leftOut")) {
            for (PlanNode one : root.list("leftOut")) {
                one.allow("table", "problem", "remedy");
                leftOut.add(new LeftOut(
                        one.has("table") ? one.table("table") : null, one.text("problem"), one.text("remedy")));
            }
        }
        return new AdoptionPlan(
                new Source(source.text("database"), source.texts("schemas")),
                new AdoptionPlan.Key(key.has("table") ? key.table("table") : null, key.column("column")),
                tables,
                lookups,
                new Changelogs(
                        changelogs.text("shards"), changelogs.has("reference") ? changelogs.text("reference") : null),
                leftOut);
    }

    private static Table table(PlanNode node) {
        node.allow("goes", "into", "key", "path", "add", "id");
        List<Step> path = new ArrayList<>();
        if (node.has("path")) {
            for (PlanNode step : node.list("path")) {
                step.allow("columns", "to", "toColumns");
                path.add(new Step(step.columns("columns"), step.table("to"), step.columns("toColumns")));
            }
            if (path.isEmpty()) {
                throw node.invalid("path", "has no step; give at least one, or remove it");
            }
        }
        return new Table(
                node.tableName(),
                Goes.valueOf(node.one("goes", "shards", "reference", "stays").toUpperCase(Locale.ROOT)),
                node.has("into") ? node.column("into") : null,
                node.has("key") ? node.column("key") : null,
                path,
                node.has("add") ? node.column("add") : null,
                node.has("id") ? Ids.valueOf(node.one("id", "next_id", "kept").toUpperCase(Locale.ROOT)) : Ids.KEPT);
    }
}
