/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import static java.util.stream.Collectors.toCollection;
import static java.util.stream.Collectors.toSet;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.adoption.AdoptionPlan.Goes;
import org.shardflake.adoption.AdoptionPlan.Ids;
import org.shardflake.adoption.AdoptionPlan.Step;
import org.shardflake.adoption.SourceCatalog.Function;
import org.shardflake.server.SqlText;

/** Makes the changelogs of a plan from the old database's catalog. */
final class ChangelogWriter {

    /** Matches comments that Liquibase interprets, wherever they are. */
    private static final Pattern LIQUIBASE = Pattern.compile(
            "(?mi)^([ \\t]*)--[ \\t]*(rollback|changeset|comment|preconditions?|precondition-.*|property|validCheckSum|ignoreLines|include)\\b");

    private final SourceCatalog source;
    private final AdoptionPlan plan;
    private final LeftOutList leftOut = new LeftOutList();
    private final Map<Long, AdoptionPlan.Table> planned = new HashMap<>();
    private final Map<TableName, Set<String>> widened = new HashMap<>();

    /** @param plan of tables that the source has */
    ChangelogWriter(SourceCatalog source, AdoptionPlan plan) {
        this.source = source;
        this.plan = plan;
        for (AdoptionPlan.Table table : plan.tables()) {
            planned.put(of(table).oid(), table);
        }
        widen();
    }

    private SourceCatalog.Table of(AdoptionPlan.Table table) {
        SourceCatalog.Table found = source.tables().get(table.name());
        if (found == null) {
            throw new IllegalArgumentException("no table " + table.name());
        }
        return found;
    }

    List<AdoptionPlan.LeftOut> leftOut() {
        return leftOut.all();
    }

    /** Finds the columns that will hold ids from next_id, and so must be bigint. */
    private void widen() {
        for (AdoptionPlan.Table table : sharded()) {
            SourceCatalog.Table its = of(table);
            if (table.ids() == Ids.NEXT_ID && its.primaryKey().size() == 1) {
                widen(its, its.primaryKey().get(0));
            }
            its.columns().stream()
                    .filter(column -> column.isCounted() && its.primaryKey().contains(column.name()))
                    .filter(column -> its.primaryKey().size() > 1)
                    .forEach(column -> widen(its, column.name()));
        }
        boolean found = true;
        while (found) {
            found = false;
            for (AdoptionPlan.Table table : sharded()) {
                found |= widenReferrers(table);
            }
        }
    }

    private boolean widenReferrers(AdoptionPlan.Table table) {
        SourceCatalog.Table its = of(table);
        boolean found = false;
        for (SourceCatalog.Constraint constraint : its.constraints()) {
            AdoptionPlan.Table target = planned.get(constraint.target());
            if (target != null) {
                found |= widen(its, constraint.columns(), target, constraint.targetColumns());
            }
        }
        if (!table.path().isEmpty()) {
            Step step = table.path().get(0);
            found |= widen(its, step.columns(), plan.table(step.to()).orElseThrow(), step.toColumns());
        }
        if (table.key() != null && plan.key().table() != null) {
            found |= widen(
                    its,
                    List.of(table.key()),
                    plan.table(plan.key().table()).orElseThrow(),
                    List.of(plan.key().column()));
        }
        return found;
    }

    private boolean widen(
            SourceCatalog.Table table, List<String> columns, AdoptionPlan.Table target, List<String> targetColumns) {
        boolean found = false;
        for (int i = 0; i < columns.size(); i++) {
            if (widened(target).contains(targetColumns.get(i))) {
                found |= widen(table, columns.get(i));
            }
        }
        return found;
    }

    private boolean widen(SourceCatalog.Table table, String column) {
        return table.has(column)
                && TableSql.isSmallNumber(table.column(column))
                && widened.computeIfAbsent(table.name(), name -> new HashSet<>())
                        .add(column);
    }

    private Set<String> widened(AdoptionPlan.Table table) {
        return widened.getOrDefault(table.name(), Set.of());
    }

    private List<AdoptionPlan.Table> sharded() {
        return all(Goes.SHARDS);
    }

    private List<AdoptionPlan.Table> all(Goes goes) {
        return plan.tables().stream().filter(table -> table.goes() == goes).toList();
    }

    /** The type of the key column that a table has only in the shards. */
    private @Nullable String addedType(AdoptionPlan.Table table) {
        if (table.path().isEmpty()) {
            return null;
        }
        AdoptionPlan.Table last =
                plan.table(table.path().get(table.path().size() - 1).to()).orElseThrow();
        String key = String.valueOf(last.key());
        return widened(last).contains(key) ? "bigint" : of(last).column(key).type();
    }

    /** The changelog of the shards. */
    Changelog shards() {
        return write(sharded());
    }

    /** The changelog of the reference tables; empty without any. */
    Changelog reference() {
        return write(all(Goes.REFERENCE));
    }

    private Changelog write(List<AdoptionPlan.Table> tables) {
        Changelog changelog = Changelog.empty();
        Set<Long> oids = tables.stream().map(table -> of(table).oid()).collect(toSet());
        Set<Long> needed = source.closure(oids);
        tables.forEach(table -> FormattedSql.require(of(table)));
        needed.stream().map(source.functions()::get).filter(Objects::nonNull).forEach(FormattedSql::require);
        FormattedSql.require(needed.stream()
                .flatMap(oid ->
                        Stream.of(source.types().get(oid), source.collations().get(oid)))
                .filter(Objects::nonNull)
                .toList());
        Set<String> extensions = new TreeSet<>();
        needed.forEach(oid -> extensions.addAll(source.extensions().getOrDefault(oid, Set.of())));
        oids.forEach(oid -> extensions.addAll(source.extensions().getOrDefault(oid, Set.of())));
        for (String extension : extensions) {
            changelog.add(
                    "extension-" + extension,
                    false,
                    "CREATE EXTENSION IF NOT EXISTS %s SCHEMA public;"
                            .formatted(source.names().written(extension)));
        }
        for (long oid : needed) {
            SourceCatalog.Definition type = source.types().get(oid);
            SourceCatalog.Definition collation = source.collations().get(oid);
            Function function = source.functions().get(oid);
            if (collation != null) {
                changelog.add("collation-" + collation.name(), false, collation.sql() + ";");
            }
            if (type != null) {
                changelog.add("type-" + type.name(), false, type.sql() + ";");
            } else if (function != null) {
                add(changelog, function);
            }
        }
        if (tables.stream().anyMatch(table -> table.goes() == Goes.SHARDS)) {
            nameOtherFunctions(needed);
        }
        Set<String> taken = tables.stream().map(AdoptionPlan.Table::target).collect(toCollection(HashSet::new));
        List<TableSql> sqls = new ArrayList<>();
        for (AdoptionPlan.Table table : tables) {
            TableSql sql = new TableSql(
                    table, of(table), widened(table), addedType(table), planned, taken, source.names(), leftOut);
            changelog.add("table-" + table.target(), false, sql.create());
            sql.checkUnique(hasLookup(table), keyColumns(table));
            addOddities(table);
            sqls.add(sql);
        }
        for (int i = 0; i < sqls.size(); i++) {
            add(changelog, "foreign-keys-" + tables.get(i).target(), sqls.get(i).foreignKeys());
        }
        for (int i = 0; i < sqls.size(); i++) {
            String sql = sqls.get(i).filledKey();
            if (!sql.isEmpty()) {
                changelog.add("key-" + tables.get(i).target(), true, sql);
            }
        }
        for (int i = 0; i < sqls.size(); i++) {
            add(changelog, "triggers-" + tables.get(i).target(), sqls.get(i).triggers());
        }
        return changelog;
    }

    private void nameOtherFunctions(Set<Long> needed) {
        List<String> others = source.functions().entrySet().stream()
                .filter(function -> !needed.contains(function.getKey()))
                .map(function -> function.getValue().signature())
                .sorted()
                .toList();
        if (!others.isEmpty()) {
            leftOut.add(
                    null,
                    "functions that no table of the shards needs: " + String.join(", ", others),
                    "write those that the application calls there into the changelog");
        }
    }

    private static void add(Changelog changelog, String name, String sql) {
        if (!sql.isEmpty()) {
            changelog.add(name, false, sql);
        }
    }

    private void addOddities(AdoptionPlan.Table table) {
        List<String> keys = of(table).keysOfExtensions();
        if (table.goes() == Goes.SHARDS && !keys.isEmpty()) {
            leftOut.add(
                    table.name(),
                    "all its rows: an extension compares its primary key, by " + String.join(", ", keys),
                    "give it a primary key of types that PostgreSQL has itself, such as text, or let it stay: the plan is refused until then");
        }
        List<String> oddities = of(table).oddities();
        for (int i = 0; i < oddities.size(); i += 2) {
            leftOut.add(table.name(), oddities.get(i), oddities.get(i + 1));
        }
    }

    private boolean hasLookup(AdoptionPlan.Table table) {
        return plan.lookups().stream().anyMatch(lookup -> lookup.table().equals(table.name()) && lookup.isUnique());
    }

    /** The columns of the old table that determine the key. */
    private static List<String> keyColumns(AdoptionPlan.Table table) {
        if (table.key() != null) {
            return List.of(table.key());
        }
        return table.path().isEmpty() ? List.of() : table.path().get(0).columns();
    }

    private void add(Changelog changelog, Function function) {
        if (!Set.of("sql", "plpgsql").contains(function.language())) {
            leftOut.add(
                    null,
                    "%s in language %s".formatted(function.signature(), function.language()),
                    "create it on all servers, in a schema that the changelog may name");
            return;
        }
        StringBuilder sql = new StringBuilder();
        if (function.language().equals("sql")) {
            // The tables that it reads are not there yet.
            sql.append("SET LOCAL check_function_bodies = off;\n");
        }
        sql.append(inShard(function)).append(';');
        if (function.comment() != null) {
            sql.append("\nCOMMENT ON %s %s IS %s;"
                    .formatted(function.kind(), function.signature(), TableSql.oneLine(function.comment())));
        }
        changelog.add("function-" + function.name(), true, sql.toString());
    }

    /** The function, with a search path set to its shard, so that it finds the shard's tables in any session. */
    private String inShard(Function function) {
        String definition = function.definition().strip();
        int body = definition.indexOf("\nAS $");
        if (body < 0) {
            return definition; // Standard SQL: names were resolved when it was made.
        }
        String head = definition.substring(0, body).replaceAll("\n SET search_path TO [^\n]*", "");
        String text = unqualified(function);
        return head + "\n SET search_path FROM CURRENT\nAS "
                + SqlText.body(LIQUIBASE.matcher(text).replaceAll("$1--| $2"));
    }

    /** The function's body without the schemas of tables, types and functions that the shards have as well. */
    private String unqualified(Function function) {
        String text = function.body();
        for (String schema : source.schemas()) {
            String quoted = Pattern.quote(schema);
            Matcher qualifier = Pattern.compile("(?<![\\w$.\"])(?:%s|\"%1$s\")\\s*\\.\\s*(?=[\\w\"])".formatted(quoted))
                    .matcher(text);
            if (qualifier.find()) {
                text = qualifier.replaceAll("");
            }
        }
        for (AdoptionPlan.Table table : plan.tables()) {
            if (table.goes() != Goes.SHARDS
                    && SourceCatalog.mentions(text, table.name().table())) {
                leftOut.add(
                        null,
                        "table %s, which %s seems to use".formatted(table.name(), function.signature()),
                        table.goes() == Goes.REFERENCE
                                ? "write reference.%s in the changelog".formatted(table.target())
                                : "rewrite the function: that table does not go into the shards");
            }
        }
        return text;
    }
}
