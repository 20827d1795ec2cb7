/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.NullUnmarked;

/** A changelog put together at random, in all formats of Liquibase: changes of every type, each with some of its attributes. */
@NullUnmarked
final class RandomChangelog {

    /** The author of all changesets, by which messages are searched for their ids. */
    static final String AUTHOR = "rnd";

    private static final List<String> TYPES = List.of(
            "int",
            "bigint",
            "smallint",
            "tinyint",
            "varchar(40)",
            "char(12)",
            "nvarchar(30)",
            "clob",
            "text",
            "boolean",
            "bit",
            "date",
            "time",
            "timestamp",
            "datetime",
            "timestamp with time zone",
            "decimal(9,2)",
            "number",
            "double",
            "float",
            "uuid",
            "longblob",
            "jsonb",
            "int[]",
            "inet",
            "currency",
            "interval",
            "numeric");
    private static final List<String> TEXTS = List.of(
            "plain",
            "it's",
            "a\\b",
            "what?",
            "a ; b",
            "-- no comment",
            "/* none */",
            "$$",
            "${none}",
            "${word}",
            "ü€😀",
            "100%",
            "\"q\"",
            ":value",
            "a, b",
            "NULL",
            " x ",
            "<b>&amp;");

    private final Random random;
    private final String name;
    private int number;
    private Model model = new Model();
    private final List<ChangeSet> changeSets = new ArrayList<>();
    private final Map<String, byte[]> files = new LinkedHashMap<>();
    private final List<String> wanted = new ArrayList<>();
    private final Set<String> used = new TreeSet<>();

    RandomChangelog(Random random, String name) {
        this.random = random;
        this.name = name;
    }

    /** An element of a changelog. */
    record Node(String name, Map<String, String> attributes, List<Node> children, String text) {

        Node with(String attribute, String value) {
            attributes.put(attribute, value);
            return this;
        }

        Node add(Node... more) {
            children.addAll(Arrays.asList(more));
            return this;
        }
    }

    /**
     * A changeset.
     *
     * @param sql its statements, if it is one of formatted SQL
     */
    private record ChangeSet(
            String id,
            String format,
            Map<String, String> attributes,
            List<Node> nodes,
            List<String> comments,
            List<String> sql) {}

    private static final class Column {
        private final String name;
        private final String type;

        Column(String name, String type) {
            this.name = name;
            this.type = type;
        }

        boolean is(String... prefixes) {
            return Arrays.stream(prefixes).anyMatch(type::startsWith);
        }
    }

    private static final class Table {
        private String name;
        private final List<Column> columns = new ArrayList<>();
        private int rows;

        Table(String name) {
            this.name = name;
        }
    }

    /** What is there so far. */
    private static final class Model {
        private final List<Table> tables = new ArrayList<>();
        private final List<String> sequences = new ArrayList<>();
        private final List<String> views = new ArrayList<>();

        Model copy() {
            Model copy = new Model();
            for (Table table : tables) {
                Table its = new Table(table.name);
                its.columns.addAll(table.columns);
                its.rows = table.rows;
                copy.tables.add(its);
            }
            copy.sequences.addAll(sequences);
            copy.views.addAll(views);
            return copy;
        }
    }

    private static Node node(String name, String... attributes) {
        Map<String, String> map = new LinkedHashMap<>();
        for (int i = 0; i < attributes.length; i += 2) {
            map.put(attributes[i], attributes[i + 1]);
        }
        return new Node(name, map, new ArrayList<>(), "");
    }

    private static Node text(String name, String text) {
        return new Node(name, new LinkedHashMap<>(), new ArrayList<>(), text);
    }

    private boolean chance(int percent) {
        return random.nextInt(100) < percent;
    }

    @SafeVarargs
    private <T> T one(T... of) {
        return of[random.nextInt(of.length)];
    }

    private <T> T one(List<T> of) {
        return of.get(random.nextInt(of.size()));
    }

    private Node maybe(Node node, String... attributes) {
        for (int i = 0; i < attributes.length; i += 2) {
            if (chance(40)) {
                node.attributes().put(attributes[i], attributes[i + 1]);
            }
        }
        if (chance(15) && node.attributes().containsKey("tableName")) {
            node.attributes().put("schemaName", "${shard.schema}");
        }
        return node;
    }

    private String next(String prefix) {
        return prefix + ++number;
    }

    private String bool() {
        return String.valueOf(random.nextBoolean());
    }

    /** The types of changes that were made. */
    Set<String> used() {
        return used;
    }

    /** Adds changesets. */
    void grow(int count) {
        for (int i = 0; i < count; i++) {
            changeSets.add(chance(25) ? formatted() : structured());
        }
    }

    /** Edits changesets that run again when they change. */
    void edit() {
        for (ChangeSet changeSet : changeSets) {
            if (!"true".equals(changeSet.attributes().get("runOnChange"))) {
                continue;
            }
            int version = ++number;
            changeSet.sql().replaceAll(sql -> sql.replaceAll("version \\d+", "version " + version));
            changeSet.nodes().replaceAll(node -> {
                Node edited = new Node(
                        node.name(),
                        node.attributes(),
                        node.children(),
                        node.text().replaceAll("version \\d+", "version " + version));
                edited.attributes().replaceAll((key, value) -> value.replaceAll("version \\d+", "version " + version));
                return edited;
            });
        }
    }

    private ChangeSet structured() {
        Map<String, String> attributes = new LinkedHashMap<>();
        List<Node> nodes = new ArrayList<>();
        boolean asks = chance(25);
        boolean skips = !asks && skip(attributes);
        Model before = model.copy();
        if (chance(10)) {
            attributes.put(
                    "objectQuotingStrategy", asks ? one("QUOTE_ONLY_RESERVED_WORDS", "LEGACY") : "QUOTE_ALL_OBJECTS");
        }
        if (chance(20)) {
            attributes.put(one("context", "contextFilter"), one("test", "test or none", "!never", "test and !never"));
        }
        if (chance(20)) {
            attributes.put("labels", one("v1", "v1, v2"));
        }
        if (chance(15)) {
            attributes.put("dbms", one("postgresql", "postgresql, h2", "!oracle", "all"));
        }
        if (chance(10)) {
            attributes.put("failOnError", "true");
        }
        if (chance(10)) {
            attributes.put("logicalFilePath", "logical/" + next("path") + ".xml");
        }
        if (chance(10)) {
            attributes.put("created", "2026");
        }
        if (chance(10)) {
            attributes.put("runInTransaction", "false");
        }
        if (chance(15)) {
            nodes.add(text("comment", one(TEXTS)));
        }
        if (asks) {
            nodes.add(0, preconditions());
            nodes.addAll(noted());
        } else if (chance(15)) {
            attributes.put(one("runOnChange", "runAlways"), "true");
            nodes.addAll(repeatable());
        } else {
            for (int i = 0; i < 1 + random.nextInt(3); i++) {
                nodes.addAll(change());
            }
            List<Node> alone =
                    nodes.stream().filter(node -> REFUSED.contains(node.name())).toList();
            if (!alone.isEmpty()) { // What is refused takes nothing along that others need.
                model = before;
                nodes.clear();
                nodes.addAll(alone);
            }
        }
        if (chance(8)) {
            nodes.add(text("rollback", "SELECT 1"));
        }
        if (chance(12)) {
            nodes.add(modifySql());
        }
        if (skips) {
            model = before;
        }
        return new ChangeSet(
                next("c"), one("xml", "xml", "yaml", "json"), attributes, nodes, List.of(), new ArrayList<>());
    }

    /** Perhaps says that a changeset is not for this database, and so on. */
    private boolean skip(Map<String, String> attributes) {
        if (!chance(8)) {
            return false;
        }
        switch (random.nextInt(4)) {
            case 0 -> attributes.put("context", "never");
            case 1 -> attributes.put("labels", "other");
            case 2 -> attributes.put("dbms", one("oracle", "!postgresql", "none"));
            default -> attributes.put("ignore", "true");
        }
        return true;
    }

    private Node modifySql() {
        Node modify = node("modifySql");
        maybe(modify, "dbms", one("postgresql", "oracle"), "applyToRollback", bool());
        maybe(modify, "context", one("test", "never"), "labels", one("v1", "other"));
        return modify.add(
                switch (random.nextInt(4)) {
                    case 0 -> node("append", "value", one(" /* end */", " -- end"));
                    case 1 -> node("prepend", "value", "/* begin */ ");
                    case 2 -> node("replace", "replace", "plain", "with", "replaced");
                    default -> node("regExpReplace", "replace", "pl(a)in", "with", "pl$1ne");
                });
    }

    private Node preconditions() {
        Node all = node("preConditions");
        maybe(
                all,
                "onFail",
                one("MARK_RAN", "CONTINUE", "WARN"),
                "onError",
                one("MARK_RAN", "CONTINUE", "WARN"),
                "onFailMessage",
                one(TEXTS));
        if (!all.attributes().containsKey("onFail")) {
            all.attributes().put("onFail", one("MARK_RAN", "CONTINUE"));
        }
        if (!all.attributes().containsKey("onError")) {
            all.attributes().put("onError", one("MARK_RAN", "CONTINUE"));
        }
        for (int i = 0; i < 1 + random.nextInt(2); i++) {
            all.add(question(0));
        }
        return all;
    }

    private Node question(int depth) {
        Table table = model.tables.isEmpty() ? new Table("noted") : one(model.tables);
        String tableName = one(table.name, table.name, "none", "noted", "NOTED");
        String column = table.columns.isEmpty() ? "id" : one(table.columns).name;
        String sequence = model.sequences.isEmpty() ? "none" : one(model.sequences);
        Node question = switch (random.nextInt(depth < 2 ? 20 : 17)) {
            case 0 -> node("dbms", "type", one("postgresql", "oracle", "postgresql, h2", "!oracle"));
            case 1 -> node("runningAs", "username", one("postgres", "someone", "POSTGRES"));
            case 2 ->
                node(
                        "changeSetExecuted",
                        "id",
                        "noted",
                        "author",
                        AUTHOR,
                        "changeLogFile",
                        one(name + "/root.xml", "none.xml"));
            case 3 -> node("tableExists", "tableName", tableName);
            case 4 -> node("columnExists", "tableName", tableName, "columnName", one(column, "none", "id"));
            case 5 -> node("sequenceExists", "sequenceName", one(sequence, "none"));
            case 6 ->
                node(
                        "foreignKeyConstraintExists",
                        "foreignKeyTableName",
                        tableName,
                        "foreignKeyName",
                        one("fk1", "none", "fk_noted"));
            case 7 ->
                chance(50)
                        ? node("indexExists", "indexName", one("noted_index", "none", "NOTED_INDEX"))
                        : node("indexExists", "tableName", tableName, "columnNames", one(column, "what", "id"));
            case 8 ->
                chance(50)
                        ? node(
                                "uniqueConstraintExists",
                                "tableName",
                                tableName,
                                "constraintName",
                                one("none", "noted_once"))
                        : node("uniqueConstraintExists", "tableName", tableName, "columnNames", column);
            case 9 ->
                chance(50)
                        ? node("primaryKeyExists", "tableName", tableName)
                        : node("primaryKeyExists", "primaryKeyName", one("noted_pkey", "none"));
            case 10 -> node("viewExists", "viewName", one(model.views.isEmpty() ? "none" : one(model.views), "none"));
            case 11 -> node("tableIsEmpty", "tableName", tableName);
            case 12 -> node("rowCount", "tableName", tableName, "expectedRows", one("0", "1", "2"));
            case 13 ->
                new Node(
                        "sqlCheck",
                        new LinkedHashMap<>(Map.of("expectedResult", one("0", "1", "true", "t"))),
                        new ArrayList<>(),
                        one(
                                "SELECT count(*) FROM noted WHERE id < 0",
                                "SELECT 1",
                                "SELECT true",
                                "SELECT nothing",
                                "SELECT 'a' WHERE false",
                                "SELECT count(*) FROM information_schema.tables WHERE table_name = 'none'"));
            case 14 -> node("changeLogPropertyDefined", "property", one("word", "none", "given"));
            case 15 -> node("expectedQuotingStrategy", "strategy", one("LEGACY", "QUOTE_ALL_OBJECTS"));
            case 16 ->
                node("customPrecondition", "className", "org.shardflake.deploy.PlainPrecondition")
                        .add(node("param", "name", "table", "value", one("noted", "none")));
            case 17 -> node("not").add(question(depth + 1));
            case 18 -> node("and").add(question(depth + 1), question(depth + 1));
            default -> node("or").add(question(depth + 1), question(depth + 1));
        };
        if (question.name().equals("changeLogPropertyDefined") && chance(50)) {
            question.attributes().put("value", one("said", "other"));
        }
        return question;
    }

    private List<Node> noted() {
        String id = String.valueOf(++number);
        return List.of(
                switch (random.nextInt(3)) {
                    case 0 ->
                        node("insert", "tableName", "noted")
                                .add(
                                        node("column", "name", "id", "valueNumeric", id),
                                        node("column", "name", "what", "value", one(TEXTS)));
                    case 1 -> text("sql", "INSERT INTO noted VALUES (%s, 'asked')".formatted(id));
                    default ->
                        node("createTable", "tableName", "asked" + id)
                                .add(node("column", "name", "id", "type", "int")
                                        .add(node("constraints", "primaryKey", "true")));
                });
    }

    private List<Node> repeatable() {
        String view = "version_" + ++number;
        return List.of(
                switch (random.nextInt(4)) {
                    case 0 -> {
                        model.views.add(view);
                        yield new Node(
                                "createView",
                                new LinkedHashMap<>(Map.of("viewName", view, "replaceIfExists", "true")),
                                new ArrayList<>(),
                                "SELECT id, 'version 0'::text AS what FROM noted");
                    }
                    case 1 ->
                        new Node(
                                "sql",
                                new LinkedHashMap<>(Map.of("splitStatements", "false")),
                                new ArrayList<>(),
                                "CREATE OR REPLACE FUNCTION f_%s() RETURNS text LANGUAGE sql AS $$ SELECT 'version 0'; $$"
                                        .formatted(view));
                    case 2 -> node("setTableRemarks", "tableName", "noted", "remarks", "version 0");
                    default ->
                        text("sql", "INSERT INTO noted VALUES ((SELECT max(id) + 1000000 FROM noted), 'version 0')");
                });
    }

    // Changes

    private List<Node> change() {
        if (wanted.isEmpty()) {
            wanted.addAll(CHANGES);
            Collections.shuffle(wanted, random);
        }
        String type = wanted.remove(wanted.size() - 1);
        List<Node> nodes = new ArrayList<>();
        if (model.tables.size() < 2 || chance(10)) {
            nodes.add(createTable());
        }
        nodes.addAll(change(type, one(model.tables)));
        used.add(type);
        return nodes;
    }

    static final List<String> CHANGES = List.of(
            "addAutoIncrement",
            "addColumn",
            "addDefaultValue",
            "addForeignKeyConstraint",
            "addLookupTable",
            "addNotNullConstraint",
            "addPrimaryKey",
            "addUniqueConstraint",
            "alterSequence",
            "createIndex",
            "createProcedure",
            "createSequence",
            "createTable",
            "createView",
            "customChange",
            "delete",
            "dropAllForeignKeyConstraints",
            "dropColumn",
            "dropDefaultValue",
            "dropForeignKeyConstraint",
            "dropIndex",
            "dropNotNullConstraint",
            "dropPrimaryKey",
            "dropProcedure",
            "dropSequence",
            "dropTable",
            "dropUniqueConstraint",
            "dropView",
            "empty",
            "executeCommand",
            "insert",
            "loadData",
            "loadUpdateData",
            "mergeColumns",
            "modifyDataType",
            "output",
            "renameColumn",
            "renameSequence",
            "renameTable",
            "renameView",
            "setColumnRemarks",
            "setTableRemarks",
            "sql",
            "sqlFile",
            "stop",
            "tagDatabase",
            "update");

    private static final Set<String> REFUSED = Set.of("stop", "customChange", "executeCommand");

    private Column keyOf(Table table) {
        return table.columns.get(0);
    }

    /** Another column than the key, made if there is none. */
    private Column columnOf(Table table, List<Node> nodes) {
        if (table.columns.size() < 2) {
            nodes.add(addColumn(table));
        }
        return table.columns.get(1 + random.nextInt(table.columns.size() - 1));
    }

    private Column columnOf(Table table, String type, List<Node> nodes) {
        String added = next("c");
        nodes.add(node("addColumn", "tableName", table.name).add(node("column", "name", added, "type", type)));
        Column column = new Column(added, type);
        table.columns.add(column);
        return column;
    }

    private Node createTable() {
        Table table = new Table(next(one("t", "t", "Table", "tBl_")));
        Node create = maybe(node("createTable", "tableName", table.name), "remarks", one(TEXTS), "ifNotExists", "true");
        String keyType = one("int", "bigint", "varchar(40)");
        Node key = node("column", "name", one("id", "key", "Id"), "type", keyType);
        if (!keyType.startsWith("v") && chance(40)) {
            key.with("autoIncrement", "true");
            maybe(key, "startWith", "50", "incrementBy", "3", "generationType", one("BY DEFAULT", "ALWAYS"));
        }
        Node constraints = node("constraints", "primaryKey", "true");
        maybe(constraints, "primaryKeyName", next("pk"), "nullable", "false", "validatePrimaryKey", "true");
        create.add(key.add(constraints));
        table.columns.add(new Column(
                key.attributes().get("name"),
                keyType + (key.attributes().containsKey("autoIncrement") ? " auto" : "")));
        for (int i = 0; i < 1 + random.nextInt(5); i++) {
            create.add(column(table, true));
        }
        model.tables.add(table);
        return create;
    }

    private Node column(Table table, boolean mayReference) {
        Column column = new Column(one(next("c"), next("c"), next("Col"), "order" + ++number), one(TYPES));
        Node node = node("column", "name", column.name, "type", column.type);
        maybe(node, "remarks", one(TEXTS), "defaultValueConstraintName", next("d"));
        if (chance(35)) {
            defaultOf(column).forEach(node::with);
        }
        if (chance(40)) {
            Node constraints = node("constraints");
            if (column.is("int", "varchar", "bigint", "date", "uuid") && chance(30)) {
                constraints.with("unique", "true");
                maybe(constraints, "uniqueConstraintName", next("u"), "validateUnique", "true");
                if (chance(30)) {
                    constraints.with("deferrable", "true").with("initiallyDeferred", bool());
                }
            } else if (chance(50)) {
                maybe(constraints, "nullable", bool(), "notNullConstraintName", next("n"), "validateNullable", bool());
            } else if (mayReference && column.type.equals("int")) {
                constraints.with("foreignKeyName", next("fk"));
                if (chance(50)) {
                    constraints.with("references", "noted(id)");
                } else {
                    constraints.with("referencedTableName", "noted").with("referencedColumnNames", "id");
                }
                maybe(
                        constraints,
                        "deleteCascade",
                        bool(),
                        "deferrable",
                        bool(),
                        "initiallyDeferred",
                        "false",
                        "validateForeignKey",
                        bool());
            } else if (column.is("varchar")) {
                constraints.with("checkConstraint", "CHECK (\"%s\" <> '')".formatted(column.name));
            }
            if (!constraints.attributes().isEmpty()) {
                node.add(constraints);
            }
        }
        table.columns.add(column);
        return node;
    }

    private Map<String, String> defaultOf(Column column) {
        if (column.is("varchar", "char", "nvarchar", "clob", "text")) {
            return Map.of("defaultValue", one("plain", "it's", "x;y", "a\\b", ""));
        }
        if (column.type.equals("boolean")) {
            return chance(50) ? Map.of("defaultValueBoolean", bool()) : Map.of("defaultValue", one("true", "1"));
        }
        if (column.type.equals("date")) {
            return chance(50)
                    ? Map.of("defaultValueDate", "2001-02-03")
                    : Map.of("defaultValueComputed", one("CURRENT_DATE", "now()"));
        }
        if (column.is("timestamp", "datetime")) {
            return chance(50)
                    ? Map.of("defaultValueDate", one("2001-02-03T04:05:06", "2001-02-03"))
                    : Map.of("defaultValueComputed", one("CURRENT_TIMESTAMP", "now()"));
        }
        if (column.is("int", "bigint", "smallint", "decimal", "number", "double", "float", "numeric")
                && !column.type.endsWith("]")) {
            if (chance(20) && !model.sequences.isEmpty() && column.is("int", "bigint")) {
                return Map.of("defaultValueSequenceNext", one(model.sequences));
            }
            return chance(70)
                    ? Map.of("defaultValueNumeric", one("1", "0", "-3"))
                    : Map.of("defaultValueComputed", "1 + 2");
        }
        if (column.type.equals("uuid")) {
            return Map.of("defaultValueComputed", "gen_random_uuid()");
        }
        return Map.of();
    }

    /** A value that a column takes, as an attribute. */
    private Map<String, String> valueOf(Column column) {
        if (chance(8)) {
            return Map.of("valueComputed", "NULL");
        }
        if (column.is("varchar", "char", "nvarchar", "clob", "text")) {
            if (column.is("clob", "text") && chance(30)) {
                return Map.of(
                        "valueClobFile",
                        file("txt", "told\n'%s';\n".formatted(one(TEXTS)).getBytes(StandardCharsets.UTF_8)));
            }
            return chance(85) ? Map.of("value", shortText()) : Map.of("valueComputed", "upper('x')");
        }
        if (column.is("boolean", "bit")) {
            return Map.of("valueBoolean", bool());
        }
        if (column.is("timestamp", "datetime")) {
            return Map.of("valueDate", one("2020-01-02T03:04:05", "2020-01-02", "2020-01-02T03:04:05.678"));
        }
        if (column.is("date")) {
            return Map.of("valueDate", "1999-12-31");
        }
        if (column.is("time")) {
            return Map.of("valueDate", "12:13:14");
        }
        if (column.type.equals("uuid")) {
            return Map.of("value", String.format("6b1e7e2c-0b0f-4c43-9a7e-%012d", ++number));
        }
        if (column.type.equals("longblob")) {
            byte[] bytes = new byte[20];
            random.nextBytes(bytes);
            return Map.of("valueBlobFile", file("bin", bytes));
        }
        if (column.type.equals("jsonb")) {
            return Map.of("value", "{\"a\": [1, \"b?\"]}");
        }
        if (column.type.equals("int[]")) {
            return Map.of("value", "{1,2,NULL}");
        }
        if (column.type.equals("inet")) {
            return Map.of("value", "10.0.0.1");
        }
        if (column.type.equals("interval")) {
            return Map.of("value", "1 day 02:00");
        }
        if (column.type.equals("currency")) {
            return Map.of("valueNumeric", "12.50");
        }
        if (chance(20) && !model.sequences.isEmpty()) {
            return Map.of("valueSequenceNext", one(model.sequences));
        }
        String whole = String.valueOf(++number % 100);
        return chance(70)
                ? Map.of("valueNumeric", whole)
                : chance(50) ? Map.of("value", whole) : Map.of("valueComputed", whole + " + 1");
    }

    private String shortText() {
        String text = one(TEXTS);
        return text.length() > 11 ? text.substring(0, 10) : text;
    }

    private String file(String ending, byte[] contents) {
        String file = next("file") + "." + ending;
        files.put(file, contents);
        return file;
    }

    private Node addColumn(Table table) {
        Node add = maybe(node("addColumn", "tableName", table.name));
        Node column = column(table, true);
        if (chance(40)) {
            Column its = table.columns.get(table.columns.size() - 1);
            Map<String, String> value = valueOf(its);
            boolean isFile = value.keySet().stream().anyMatch(key -> key.endsWith("File"));
            if (!isFile) {
                value.forEach(column::with);
            }
        }
        column.children()
                .removeIf(child -> "true".equals(child.attributes().get("unique"))
                        || "false".equals(child.attributes().get("nullable")));
        return add.add(column);
    }

    private Node insert(Table table) {
        Node insert = maybe(node("insert", "tableName", table.name), "dbms", one("postgresql", "all"));
        if (chance(5)) {
            insert.with("dbms", "oracle, h2");
        }
        Column key = keyOf(table);
        if (!key.is("int auto", "bigint auto")) {
            insert.add(
                    key.is("varchar")
                            ? node("column", "name", key.name, "value", "k" + ++number)
                            : node("column", "name", key.name, "valueNumeric", String.valueOf(++number)));
        }
        for (Column column : table.columns.subList(1, table.columns.size())) {
            if (chance(70)) {
                Node value = node("column", "name", column.name);
                valueOf(column).forEach(value::with);
                insert.add(value);
            }
        }
        table.rows++;
        return insert;
    }

    private List<Node> change(String type, Table table) {
        List<Node> nodes = new ArrayList<>();
        switch (type) {
            case "createTable" -> nodes.add(createTable());
            case "addColumn" -> nodes.add(addColumn(table));
            case "addAutoIncrement" -> {
                Column column = columnOf(table, one("int", "bigint"), nodes);
                nodes.add(node(
                        "addNotNullConstraint",
                        "tableName",
                        table.name,
                        "columnName",
                        column.name,
                        "defaultNullValue",
                        "1"));
                nodes.add(maybe(
                        node(type, "tableName", table.name, "columnName", column.name, "columnDataType", column.type),
                        "startWith",
                        "70",
                        "incrementBy",
                        "2",
                        "generationType",
                        one("ALWAYS", "BY DEFAULT")));
            }
            case "addDefaultValue" -> {
                Column column = columnOf(table, nodes);
                Map<String, String> value = defaultOf(column);
                if (value.isEmpty()) {
                    column = columnOf(table, "text", nodes);
                    value = defaultOf(column);
                }
                Node add = node(type, "tableName", table.name, "columnName", column.name);
                value.forEach(add::with);
                nodes.add(maybe(add, "columnDataType", column.type, "defaultValueConstraintName", next("d")));
            }
            case "dropDefaultValue" -> {
                Column column = columnOf(table, nodes);
                nodes.add(maybe(
                        node(type, "tableName", table.name, "columnName", column.name), "columnDataType", column.type));
            }
            case "addForeignKeyConstraint", "dropForeignKeyConstraint", "dropAllForeignKeyConstraints" -> {
                Column column = columnOf(table, "int", nodes);
                String foreignKey = next("fk");
                Node add = node(
                        "addForeignKeyConstraint",
                        "baseTableName",
                        table.name,
                        "baseColumnNames",
                        column.name,
                        "constraintName",
                        foreignKey,
                        "referencedTableName",
                        "noted",
                        "referencedColumnNames",
                        "id");
                nodes.add(maybe(
                        add,
                        "onDelete",
                        one("CASCADE", "SET NULL", "RESTRICT", "NO ACTION", "SET DEFAULT"),
                        "onUpdate",
                        one("CASCADE", "RESTRICT"),
                        "deferrable",
                        "true",
                        "initiallyDeferred",
                        "true",
                        "validate",
                        bool(),
                        "referencesUniqueColumn",
                        bool()));
                if (type.equals("dropForeignKeyConstraint")) {
                    nodes.add(node(type, "baseTableName", table.name, "constraintName", foreignKey));
                } else if (type.startsWith("dropAll")) {
                    nodes.add(maybe(node(type, "baseTableName", table.name), "baseTableSchemaName", "${shard.schema}"));
                }
            }
            case "addLookupTable" -> {
                Column column = columnOf(table, "varchar(20)", nodes);
                nodes.add(maybe(
                        node(
                                type,
                                "existingTableName",
                                table.name,
                                "existingColumnName",
                                column.name,
                                "newTableName",
                                next("lookup"),
                                "newColumnName",
                                "code",
                                "newColumnDataType",
                                "varchar(20)"),
                        "constraintName",
                        next("fk")));
            }
            case "addNotNullConstraint", "dropNotNullConstraint" -> {
                Column column = columnOf(table, one("int", "varchar(40)"), nodes);
                nodes.add(maybe(
                        node(
                                "addNotNullConstraint",
                                "tableName",
                                table.name,
                                "columnName",
                                column.name,
                                "defaultNullValue",
                                "1"),
                        "columnDataType",
                        column.type,
                        "constraintName",
                        next("n"),
                        "validate",
                        bool()));
                if (type.startsWith("drop")) {
                    nodes.add(maybe(
                            node(type, "tableName", table.name, "columnName", column.name),
                            "columnDataType",
                            column.type));
                }
            }
            case "addPrimaryKey", "dropPrimaryKey" -> {
                String added = next("keyed");
                String key = next("pk");
                nodes.add(node("createTable", "tableName", added)
                        .add(
                                node("column", "name", "a", "type", "int")
                                        .add(node("constraints", "nullable", "false")),
                                node("column", "name", "b", "type", "varchar(10)")
                                        .add(node("constraints", "nullable", "false"))));
                Node add = node("addPrimaryKey", "tableName", added, "columnNames", one("a", "a, b"));
                maybe(add, "constraintName", key, "validate", "true");
                if (add.attributes().containsKey("constraintName")) {
                    maybe(add, "clustered", bool());
                }
                nodes.add(add);
                if (type.startsWith("drop")) {
                    nodes.add(maybe(
                            node(type, "tableName", added),
                            "constraintName",
                            add.attributes().getOrDefault("constraintName", added + "_pkey"),
                            "dropIndex",
                            bool()));
                    String index = next("i");
                    nodes.add(node("createIndex", "tableName", added, "indexName", index, "unique", "true")
                            .add(node("column", "name", "a")));
                    nodes.add(node(
                            "addPrimaryKey",
                            "tableName",
                            added,
                            "columnNames",
                            "a",
                            "constraintName",
                            next("pk"),
                            "forIndexName",
                            index));
                }
            }
            case "addUniqueConstraint", "dropUniqueConstraint" -> {
                Column column = columnOf(table, "varchar(40)", nodes);
                Node add = node("addUniqueConstraint", "tableName", table.name, "columnNames", column.name);
                String constraint = next("u");
                if (chance(60) || type.startsWith("drop")) {
                    add.with("constraintName", constraint);
                }
                nodes.add(maybe(
                        add,
                        "deferrable",
                        "true",
                        "initiallyDeferred",
                        "true",
                        "disabled",
                        "false",
                        "validate",
                        "true",
                        "clustered",
                        "false"));
                if (type.startsWith("drop")) {
                    nodes.add(maybe(
                            node(type, "tableName", table.name, "constraintName", constraint),
                            "uniqueColumns",
                            column.name));
                }
            }
            case "createSequence", "alterSequence", "renameSequence", "dropSequence" -> {
                String sequence = next(one("s", "Seq"));
                nodes.add(maybe(
                        node("createSequence", "sequenceName", sequence),
                        "startValue",
                        "100",
                        "incrementBy",
                        "5",
                        "minValue",
                        "1",
                        "maxValue",
                        "100000",
                        "cycle",
                        bool(),
                        "cacheSize",
                        "3",
                        "dataType",
                        one("int", "bigint", "smallint")));
                switch (type) {
                    case "alterSequence" -> {
                        Node alter = node(type, "sequenceName", sequence);
                        maybe(
                                alter,
                                "incrementBy",
                                "7",
                                "maxValue",
                                "30000",
                                "minValue",
                                "1",
                                "cacheSize",
                                "4",
                                "cycle",
                                bool(),
                                "dataType",
                                "int");
                        nodes.add(alter.attributes().size() > 1 ? alter : alter.with("incrementBy", "9"));
                    }
                    case "renameSequence" -> {
                        nodes.add(node(type, "oldSequenceName", sequence, "newSequenceName", sequence + "_new"));
                        sequence += "_new";
                    }
                    case "dropSequence" -> nodes.add(node(type, "sequenceName", sequence));
                    default -> {}
                }
                if (!type.equals("dropSequence") && sequence.startsWith("s")) {
                    model.sequences.add(sequence);
                }
            }
            case "createIndex", "dropIndex" -> {
                Column column = columnOf(table, one("int", "varchar(40)", "date"), nodes);
                String index = next(one("i", "Index"));
                Node create = node("createIndex", "tableName", table.name, "indexName", index);
                maybe(
                        create,
                        "unique",
                        "false",
                        "using",
                        one("btree", "hash", "gist").replace("gist", "btree"),
                        "clustered",
                        bool(),
                        "associatedWith",
                        "");
                if ("hash".equals(create.attributes().get("using"))) {
                    nodes.add(create.add(node("column", "name", column.name)));
                } else if (chance(20)) {
                    nodes.add(create.add(node(
                            "column", "name", "coalesce(\"%s\", NULL)".formatted(column.name), "computed", "true")));
                } else {
                    create.add(maybe(node("column", "name", column.name), "descending", bool()));
                    if (chance(30)) {
                        create.add(maybe(node("column", "name", keyOf(table).name), "included", "true"));
                    }
                    nodes.add(create);
                }
                if (type.startsWith("drop")) {
                    nodes.add(maybe(node(type, "tableName", table.name, "indexName", index), "associatedWith", ""));
                }
            }
            case "createView", "renameView", "dropView" -> {
                String view = next(one("v", "View"));
                String select = "SELECT id, what, 'v;' AS v FROM noted WHERE what <> '%s'".formatted(one("x", "y"));
                Node create = node("createView", "viewName", view);
                maybe(create, "replaceIfExists", bool(), "remarks", one(TEXTS), "schemaName", "${shard.schema}");
                if (chance(25)) {
                    nodes.add(create.with("path", file("sql", select.getBytes(StandardCharsets.UTF_8)))
                            .with("relativeToChangelogFile", "true"));
                } else if (chance(25)) {
                    create.attributes().remove("replaceIfExists");
                    nodes.add(new Node(
                                    "createView",
                                    create.attributes(),
                                    create.children(),
                                    "CREATE VIEW \"%s\" AS %s".formatted(view, select))
                            .with("fullDefinition", "true"));
                } else {
                    nodes.add(new Node("createView", create.attributes(), create.children(), select));
                }
                if (type.equals("renameView")) {
                    nodes.add(node(type, "oldViewName", view, "newViewName", view + "_new"));
                } else if (type.equals("dropView")) {
                    nodes.add(maybe(node(type, "viewName", view), "ifExists", bool()));
                } else if (view.startsWith("v")) {
                    model.views.add(view);
                }
            }
            case "createProcedure", "dropProcedure" -> {
                String procedure = next("p");
                String body =
                        "CREATE %sPROCEDURE %s() LANGUAGE plpgsql AS $body$ BEGIN /* kept */ UPDATE noted SET what = what; -- so\n END; $body$"
                                .formatted(one("", "OR REPLACE "), procedure);
                Node create = node("createProcedure");
                maybe(
                        create,
                        "procedureName",
                        procedure,
                        "dbms",
                        one("postgresql", "all"),
                        "replaceIfExists",
                        "false",
                        "schemaName",
                        "${shard.schema}");
                nodes.add(
                        chance(30)
                                ? create.with("path", file("sql", body.getBytes(StandardCharsets.UTF_8)))
                                        .with("relativeToChangelogFile", "true")
                                : new Node("createProcedure", create.attributes(), create.children(), body));
                if (type.startsWith("drop")) {
                    nodes.add(node(type, "procedureName", procedure));
                }
            }
            case "dropColumn" -> {
                Column one = columnOf(table, "int", nodes);
                Column two = columnOf(table, "text", nodes);
                table.columns.remove(one);
                if (chance(50)) {
                    nodes.add(maybe(node(type, "tableName", table.name, "columnName", one.name)));
                } else {
                    table.columns.remove(two);
                    nodes.add(node(type, "tableName", table.name)
                            .add(node("column", "name", one.name), node("column", "name", two.name)));
                }
            }
            case "dropTable" -> {
                nodes.add(createTable());
                Table gone = model.tables.remove(model.tables.size() - 1);
                nodes.add(maybe(node(type, "tableName", gone.name), "cascadeConstraints", bool()));
            }
            case "renameTable" -> {
                nodes.add(node(type, "oldTableName", table.name, "newTableName", table.name + "n"));
                table.name += "n";
            }
            case "renameColumn" -> {
                Column column = columnOf(table, nodes);
                String renamed = column.name + "_n";
                nodes.add(maybe(
                        node(type, "tableName", table.name, "oldColumnName", column.name, "newColumnName", renamed),
                        "columnDataType",
                        column.type,
                        "remarks",
                        one(TEXTS)));
                table.columns.set(table.columns.indexOf(column), new Column(renamed, column.type));
            }
            case "mergeColumns" -> {
                Column one = columnOf(table, "varchar(20)", nodes);
                Column two = columnOf(table, "varchar(20)", nodes);
                String merged = next("m");
                nodes.add(maybe(node(
                        type,
                        "tableName",
                        table.name,
                        "column1Name",
                        one.name,
                        "column2Name",
                        two.name,
                        "finalColumnName",
                        merged,
                        "finalColumnType",
                        "varchar(60)",
                        "joinString",
                        one("-", "'", ", "))));
                table.columns.remove(one);
                table.columns.remove(two);
                table.columns.add(new Column(merged, "varchar(60)"));
            }
            case "modifyDataType" -> {
                Column column = columnOf(table, "varchar(20)", nodes);
                nodes.add(maybe(node(
                        type,
                        "tableName",
                        table.name,
                        "columnName",
                        column.name,
                        "newDataType",
                        one("varchar(90)", "clob", "text"))));
            }
            case "setColumnRemarks" ->
                nodes.add(maybe(
                        node(
                                type,
                                "tableName",
                                table.name,
                                "columnName",
                                columnOf(table, nodes).name,
                                "remarks",
                                one(TEXTS)),
                        "columnDataType",
                        "int"));
            case "setTableRemarks" -> nodes.add(maybe(node(type, "tableName", table.name, "remarks", one(TEXTS))));
            case "insert" -> nodes.add(insert(table));
            case "update" -> {
                Column column = columnOf(table, nodes);
                Node update = maybe(node(type, "tableName", table.name));
                Node value = node("column", "name", column.name);
                valueOf(column).forEach(value::with);
                nodes.add(where(update.add(value)));
            }
            case "delete" -> nodes.add(where(maybe(node(type, "tableName", table.name))));
            case "loadData", "loadUpdateData" -> nodes.addAll(load(type));
            case "sql" -> {
                List<String> statements = statements();
                Node sql = node(type);
                maybe(sql, "dbms", one("postgresql", "all"), "stripComments", bool());
                nodes.add(delimited(sql, statements));
            }
            case "sqlFile" -> {
                List<String> statements = statements();
                Node sql = node(type);
                maybe(sql, "dbms", one("postgresql", "all"), "stripComments", bool(), "encoding", "UTF-8");
                Node made = delimited(sql, statements);
                nodes.add(node(
                        type,
                        "path",
                        file("sql", made.text().getBytes(StandardCharsets.UTF_8)),
                        "relativeToChangelogFile",
                        "true"));
                made.attributes().forEach(nodes.get(nodes.size() - 1)::with);
            }
            case "tagDatabase" -> nodes.add(node(type, "tag", next("tag")));
            case "output" ->
                nodes.add(new Node(
                        type,
                        new LinkedHashMap<>(Map.of("target", one("STDERR", "DEBUG"))),
                        new ArrayList<>(),
                        "said"));
            case "empty" -> nodes.add(node(type));
            case "stop" -> nodes.addAll(chance(20) ? List.of(text(type, "enough")) : List.of());
            case "executeCommand" ->
                nodes.addAll(chance(20) ? List.of(node(type, "executable", "true", "os", "Linux")) : List.of());
            case "customChange" ->
                nodes.addAll(
                        chance(20) ? List.of(node(type, "class", "org.shardflake.deploy.PlainChange")) : List.of());
            default -> throw new AssertionError(type);
        }
        return nodes;
    }

    private Node where(Node node) {
        int kind = random.nextInt(3);
        if (kind == 0) {
            return node.add(text("where", "1 = 2 OR 'a?' <> 'b;'"));
        }
        return node.add(
                text("where", kind == 1 ? ":value = :value" : "current_database() = :value OR 7 > :value"),
                node("whereParams")
                        .add(
                                kind == 1 ? node("param", "valueNumeric", "1") : node("param", "value", one(TEXTS)),
                                kind == 1 ? node("param", "valueComputed", "1") : node("param", "valueNumeric", "5")));
    }

    private Node delimited(Node sql, List<String> statements) {
        String joined;
        if (statements.size() == 1 && chance(50)) {
            sql.with("splitStatements", "false");
            joined = statements.get(0);
        } else if (chance(30)) {
            sql.with("endDelimiter", "//");
            joined = String.join("\n//\n", statements);
        } else if (chance(20)) {
            sql.with("endDelimiter", "\\nGO");
            joined = String.join("\nGO\n", statements) + "\nGO";
        } else {
            joined = String.join(";\n", statements) + one("", ";", ";\n");
        }
        return new Node(sql.name(), sql.attributes(), sql.children(), joined);
    }

    private List<String> statements() {
        List<String> statements = new ArrayList<>();
        for (int i = 0; i < 1 + random.nextInt(3); i++) {
            statements.addAll(statement());
        }
        return statements;
    }

    private List<String> statement() {
        int n = ++number;
        String text = one("plain", "it''s; so", "-- none", "/* none */ x", "a\\b", "$x$ ü", "${word}", "GO", "//x");
        return switch (random.nextInt(26)) {
            case 0, 1 -> List.of("INSERT INTO noted VALUES (%s, '%s') -- a note".formatted(n, text));
            case 2 ->
                List.of("/* first */ INSERT INTO noted /* in the middle; */ VALUES (%s, '%s')".formatted(n, text));
            case 3 -> List.of("DO $do$ BEGIN INSERT INTO noted VALUES (%s, 'x'); /* kept; */ END $do$".formatted(n));
            case 4 ->
                List.of(
                        "CREATE FUNCTION f%s(a int DEFAULT 3) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT a -- kept\n $$"
                                .formatted(n));
            case 5 ->
                List.of(
                        "CREATE TABLE odd%1$s (id int PRIMARY KEY, a int GENERATED ALWAYS AS (id * 2) STORED, b text COLLATE \"C\", c int CHECK (c > 0) NO INHERIT, EXCLUDE USING btree (c WITH =))"
                                .formatted(n),
                        "CREATE TABLE child%1$s (PRIMARY KEY (id)) INHERITS (odd%1$s)".formatted(n));
            case 6 ->
                List.of(
                        "CREATE TABLE part%1$s (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)"
                                .formatted(n),
                        "CREATE TABLE part%1$s_1 PARTITION OF part%1$s FOR VALUES FROM ('2020-01-01') TO ('2021-01-01')"
                                .formatted(n),
                        "CREATE INDEX ON part%1$s (at)".formatted(n),
                        "INSERT INTO part%1$s VALUES (1, '2020-05-05')".formatted(n));
            case 7 ->
                List.of(
                        "CREATE TYPE mood%s AS ENUM ('sad', 'so')".formatted(n),
                        "CREATE TABLE feeling%1$s (id int PRIMARY KEY, mood mood%1$s DEFAULT 'sad')".formatted(n),
                        "ALTER TYPE mood%s ADD VALUE 'glad' BEFORE 'so'".formatted(n));
            case 8 ->
                List.of(
                        "CREATE DOMAIN small%s AS int CHECK (VALUE < 10) DEFAULT 3".formatted(n),
                        "CREATE TYPE pair%1$s AS (a int, b small%1$s)".formatted(n),
                        "CREATE TABLE paired%1$s (id int PRIMARY KEY, p pair%1$s, s small%1$s)".formatted(n));
            case 9 ->
                List.of(
                        "CREATE FUNCTION tf%s() RETURNS trigger LANGUAGE plpgsql AS $t$ BEGIN NEW.what := NEW.what || '!'; RETURN NEW; END $t$"
                                .formatted(n),
                        "CREATE TABLE watched%s (id int PRIMARY KEY, what text)".formatted(n),
                        "CREATE TRIGGER watch%1$s BEFORE INSERT ON watched%1$s FOR EACH ROW WHEN (NEW.id > 0) EXECUTE FUNCTION tf%1$s()"
                                .formatted(n),
                        "INSERT INTO watched%s VALUES (1, 'a')".formatted(n));
            case 10 -> List.of("COMMENT ON COLUMN noted.what IS '%s'".formatted(text));
            case 11 -> List.of("GRANT SELECT (id), UPDATE ON noted TO PUBLIC");
            case 12 ->
                List.of(
                        "CREATE MATERIALIZED VIEW mat%s AS SELECT count(*) AS n FROM noted".formatted(n),
                        "CREATE UNIQUE INDEX ON mat%s (n)".formatted(n),
                        "REFRESH MATERIALIZED VIEW mat%s".formatted(n));
            case 13 ->
                List.of("CREATE RULE r%1$s AS ON INSERT TO noted WHERE NEW.id = -%1$s DO ALSO SELECT 1".formatted(n));
            case 14 ->
                List.of(
                        "CREATE TABLE secret%s (id int PRIMARY KEY, who text)".formatted(n),
                        "ALTER TABLE secret%s ENABLE ROW LEVEL SECURITY".formatted(n),
                        "CREATE POLICY own ON secret%s FOR SELECT USING (who = current_user)".formatted(n));
            case 15 ->
                List.of(
                        "CREATE STATISTICS st%s ON id, what FROM noted".formatted(n),
                        "ALTER TABLE noted ALTER COLUMN what SET STATISTICS 50");
            case 16 ->
                List.of(
                        "CREATE TABLE owned%s (id int PRIMARY KEY, n int)".formatted(n),
                        "CREATE SEQUENCE ow%1$s OWNED BY owned%1$s.n".formatted(n),
                        "ALTER TABLE owned%1$s ALTER COLUMN n SET DEFAULT nextval('ow%1$s')".formatted(n),
                        "INSERT INTO owned%s (id) VALUES (1), (2)".formatted(n));
            case 17 ->
                List.of(
                        "CREATE TABLE stored%s (id int PRIMARY KEY, t text STORAGE EXTERNAL) WITH (fillfactor = 70)"
                                .replace(" STORAGE EXTERNAL", "")
                                .formatted(n),
                        "ALTER TABLE stored%s ALTER COLUMN t SET STORAGE EXTERNAL".formatted(n));
            case 18 -> List.of("CREATE TABLE copied%s (LIKE noted INCLUDING ALL)".formatted(n));
            case 19 ->
                List.of(
                        "CREATE TABLE made%s AS SELECT id, what FROM noted".formatted(n),
                        "ALTER TABLE made%s ADD PRIMARY KEY (id)".formatted(n));
            case 20 ->
                List.of(
                        "SET LOCAL default_with_null%s.x = 'a'".formatted(n),
                        "INSERT INTO noted VALUES (%s, current_setting('work_mem'))".formatted(n));
            case 21 ->
                List.of(
                        "SET LOCAL work_mem = '%skB'".formatted(64 + n),
                        "INSERT INTO noted VALUES (%s, current_setting('work_mem'))".formatted(n));
            case 22 ->
                List.of(
                        "INSERT INTO noted VALUES (%s, current_setting('work_mem') || current_setting('search_path') || current_user || current_schema)"
                                .formatted(n));
            case 23 ->
                List.of(
                        "SET default_toast_compression = %s".formatted("pglz"),
                        "CREATE TABLE pressed%s (id int PRIMARY KEY, t text)".formatted(n));
            case 24 ->
                List.of(
                        "CREATE AGGREGATE agg%s (int) (SFUNC = int4pl, STYPE = int, INITCOND = '0')".formatted(n),
                        "CREATE COLLATION col%s (provider = icu, locale = 'de')".formatted(n));
            default ->
                List.of(
                        "CREATE VIEW wv%s WITH (security_invoker = on) AS SELECT id, what FROM noted WHERE id > 0 WITH CHECK OPTION"
                                .formatted(n),
                        "ALTER DEFAULT PRIVILEGES IN SCHEMA ${shard.schema} GRANT SELECT ON TABLES TO PUBLIC");
        };
    }

    /** A table and a file that is loaded into it. */
    private List<Node> load(String type) {
        List<Node> nodes = new ArrayList<>();
        Table table = new Table(next("load"));
        Node create = node("createTable", "tableName", table.name)
                .add(node("column", "name", "id", "type", "int").add(node("constraints", "primaryKey", "true")));
        String separator = one(",", ";", "\t");
        String quote = one("\"", "\"", "'");
        boolean latin = chance(20);
        Node load = node(type, "tableName", table.name);
        if (!separator.equals(",")) {
            load.with("separator", separator);
        }
        if (!quote.equals("\"")) {
            load.with("quotchar", quote);
        }
        maybe(
                load,
                "usePreparedStatements",
                bool(),
                "commentLineStartsWith",
                one("#", "//"),
                "relativeToChangelogFile",
                "true");
        if (latin) {
            load.with("encoding", "ISO-8859-1");
        }
        if (type.equals("loadUpdateData")) {
            load.with("primaryKey", "id");
            maybe(load, "onlyUpdate", bool());
        }
        List<String> header = new ArrayList<>(List.of("id"));
        List<String> kinds = new ArrayList<>();
        boolean typed = chance(70);
        for (int i = 0; i < 1 + random.nextInt(6); i++) {
            String kind = one(
                    "STRING",
                    "NUMERIC",
                    "BOOLEAN",
                    "DATE",
                    "DATETIME",
                    "TIME",
                    "COMPUTED",
                    "SEQUENCE",
                    "CLOB",
                    "BLOB",
                    "UUID",
                    "SKIP",
                    "OTHER",
                    "UNKNOWN");
            if (kind.equals("SEQUENCE") && model.sequences.isEmpty()) {
                kind = "STRING";
            }
            if (!typed && Set.of("COMPUTED", "SEQUENCE", "CLOB", "BLOB", "SKIP").contains(kind)) {
                kind = "STRING";
            }
            String column = next("l");
            header.add(column);
            kinds.add(kind);
            if (!kind.equals("SKIP")) {
                create.add(node(
                        "column",
                        "name",
                        column,
                        "type",
                        switch (kind) {
                            case "NUMERIC" -> one("int", "decimal(9,2)", "bigint", "double");
                            case "BOOLEAN" -> "boolean";
                            case "DATE" -> one("date", "timestamp");
                            case "DATETIME" -> one("timestamp", "timestamp with time zone");
                            case "TIME" -> "time";
                            case "COMPUTED", "SEQUENCE" -> "int";
                            case "CLOB" -> one("clob", "text");
                            case "BLOB" -> "longblob";
                            case "UUID" -> "uuid";
                            case "OTHER" -> one("jsonb", "inet").replace("inet", "jsonb");
                            default -> one("varchar(60)", "text");
                        }));
            }
            if (typed
                    && (chance(80)
                            || Set.of("COMPUTED", "SEQUENCE", "CLOB", "BLOB", "SKIP")
                                    .contains(kind))) {
                Node its = node(
                        "column", "type", chance(50) ? kind : kind.toLowerCase(java.util.Locale.ROOT), "name", column);
                if (chance(25)) {
                    its.with("header", column);
                }
                if (type.equals("loadUpdateData") && chance(15)) {
                    its.with("allowUpdate", bool());
                }
                if (chance(20) && kind.equals("STRING")) {
                    its.with("defaultValue", "given");
                }
                if (chance(20) && kind.equals("NUMERIC")) {
                    its.with("defaultValueNumeric", "4");
                }
                if (chance(20) && kind.equals("STRING")) {
                    its.with("nullPlaceholder", "-");
                }
                load.add(its);
            }
        }
        StringBuilder lines = new StringBuilder(String.join(separator, header)).append('\n');
        for (int row = 1; row < 2 + random.nextInt(4); row++) {
            List<String> cells = new ArrayList<>(List.of(String.valueOf(row)));
            for (String kind : kinds) {
                String cell = chance(10)
                        ? one("", "NULL")
                        : switch (kind) {
                            case "NUMERIC" -> one("1", "2.5", "0007").replace("2.5", "25");
                            case "BOOLEAN" -> one("true", "false", "1", "0", "t");
                            case "DATE" -> one("2020-02-03", "2020-02-03");
                            case "DATETIME" -> one("2020-02-03T04:05:06", "2020-02-03 04:05:06");
                            case "TIME" -> "04:05:06";
                            case "COMPUTED" -> one("1 + 2", "length('x')");
                            case "SEQUENCE" -> one(model.sequences.isEmpty() ? List.of("none") : model.sequences);
                            case "CLOB" -> file("txt", ("clob " + row).getBytes(StandardCharsets.UTF_8));
                            case "BLOB" -> file("bin", new byte[] {0, 1, (byte) row});
                            case "UUID" -> String.format("6b1e7e2c-0b0f-4c43-9a7e-%012d", row);
                            case "OTHER" -> "{}";
                            default ->
                                latin
                                        ? "größe"
                                        : one(
                                                "plain",
                                                "it's".replace("'", quote.equals("'") ? "" : "'"),
                                                "a?b",
                                                "x -- y",
                                                "-",
                                                "a\\b",
                                                "ü€",
                                                " s ");
                        };
                boolean quotes = cell.contains(separator) || chance(15);
                cells.add(quotes ? quote + cell + quote : cell);
            }
            if (load.attributes().containsKey("commentLineStartsWith") && chance(20)) {
                lines.append(load.attributes().get("commentLineStartsWith")).append(" left out\n");
            }
            lines.append(String.join(separator, cells)).append('\n');
        }
        String csv =
                file("csv", lines.toString().getBytes(latin ? StandardCharsets.ISO_8859_1 : StandardCharsets.UTF_8));
        load.with("file", "true".equals(load.attributes().get("relativeToChangelogFile")) ? csv : name + "/" + csv);
        nodes.add(create);
        nodes.add(load);
        if (chance(40)) {
            nodes.add(maybe(
                    node(
                            "loadUpdateData",
                            "tableName",
                            table.name,
                            "file",
                            load.attributes().get("file"),
                            "primaryKey",
                            "id"),
                    "onlyUpdate",
                    bool()));
            load.attributes()
                    .forEach((key, value) ->
                            nodes.get(nodes.size() - 1).attributes().putIfAbsent(key, value));
            nodes.get(nodes.size() - 1)
                    .children()
                    .addAll(load.children().stream()
                            .map(child -> {
                                Map<String, String> copy = new LinkedHashMap<>(child.attributes());
                                copy.remove("nullPlaceholder");
                                return new Node(child.name(), copy, child.children(), child.text());
                            })
                            .toList());
        }
        return nodes;
    }

    private ChangeSet formatted() {
        Map<String, String> attributes = new LinkedHashMap<>();
        List<String> comments = new ArrayList<>();
        List<String> sql = new ArrayList<>();
        if (chance(15)) {
            attributes.put(one("runOnChange", "runAlways"), "true");
            int n = ++number;
            sql.add("CREATE OR REPLACE VIEW fv%s AS SELECT 'version 0'::text AS v".formatted(n));
            if (chance(50)) {
                sql.add("GRANT SELECT ON fv%s TO PUBLIC".formatted(n));
            }
        } else {
            sql.addAll(statements());
        }
        if (sql.size() == 1 && chance(40)) {
            attributes.put("splitStatements", "false");
        } else if (chance(30)) {
            attributes.put("endDelimiter", one("//", "\\nGO"));
        }
        if (chance(30)) {
            attributes.put("stripComments", bool());
        }
        if (chance(20)) {
            attributes.put(one("context", "contextFilter"), one("test", "!never", "\"test or none\""));
        }
        if (chance(20)) {
            attributes.put("labels", "v1");
        }
        if (chance(20)) {
            attributes.put("dbms", one("postgresql", "!oracle"));
        }
        if (chance(8)) {
            attributes.put("failOnError", "true");
        }
        if (chance(8)) {
            attributes.put("logicalFilePath", "logical/" + next("path") + ".sql");
        }
        if (chance(8)) {
            attributes.put("runInTransaction", "false");
        }
        if (chance(20)) {
            comments.add("--comment: " + one("a note", "it's; so"));
        }
        if (chance(15)) {
            comments.add("--validCheckSum: 1:any");
        }
        if (chance(25)) {
            comments.add("--preconditions onFail:%s onError:%s"
                    .formatted(one("MARK_RAN", "CONTINUE", "WARN"), one("MARK_RAN", "CONTINUE", "WARN")));
            comments.add(one(
                    "--precondition-sql-check expectedResult:0 SELECT count(*) FROM noted WHERE id < 0",
                    "--precondition-sql-check expectedResult:\"1\" SELECT 2",
                    "--precondition-table-exists table:noted",
                    "--precondition-table-exists table:none",
                    "--precondition-view-exists view:none"));
        }
        return new ChangeSet(next("c"), "sql", attributes, new ArrayList<>(), comments, sql);
    }

    // Files

    /** Writes the changelog, but for some changesets. */
    void write(Path directory, Set<String> without) throws IOException {
        Path its = Files.createDirectories(directory.resolve(name));
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            Files.write(its.resolve(file.getKey()), file.getValue());
        }
        StringBuilder root = new StringBuilder(head());
        root.append(
                "<property name=\"word\" value=\"said\"/>\n<property name=\"word\" value=\"wrong\" dbms=\"oracle\"/>\n");
        root.append(
                        "<changeSet id=\"noted\" author=\"rnd\"><createTable tableName=\"noted\"><column name=\"id\" type=\"int\"><constraints primaryKey=\"true\" primaryKeyName=\"noted_pkey\"/></column><column name=\"what\" type=\"text\"/></createTable>")
                .append(
                        "<createIndex tableName=\"noted\" indexName=\"noted_index\"><column name=\"what\"/></createIndex><insert tableName=\"noted\"><column name=\"id\" value=\"1\"/></insert></changeSet>\n");
        String format = "";
        StringBuilder current = new StringBuilder();
        int part = 0;
        for (ChangeSet changeSet : changeSets) {
            if (without.contains(changeSet.id())) {
                continue;
            }
            if (!changeSet.format().equals(format)) {
                end(its, format, part++, current, root);
                format = changeSet.format();
            }
            current.append(
                    switch (format) {
                        case "sql" -> sql(changeSet);
                        case "xml" -> xml(changeSet);
                        default -> (current.isEmpty() ? "" : ",\n") + json(changeSet);
                    });
        }
        end(its, format, part, current, root);
        Files.writeString(its.resolve("root.xml"), root.append("</databaseChangeLog>\n"));
    }

    private static String head() {
        return """
                <?xml version="1.0" encoding="UTF-8"?>
                <databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
                    xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
                """;
    }

    private static void end(Path directory, String format, int part, StringBuilder text, StringBuilder root)
            throws IOException {
        if (text.isEmpty()) {
            return;
        }
        String whole = switch (format) {
            case "sql" -> "--liquibase formatted sql\n" + text;
            case "xml" -> head() + text + "</databaseChangeLog>\n";
            // YAML is JSON, and the parser of Liquibase takes it as such.
            default -> "{\"databaseChangeLog\": [\n" + text + "\n]}\n";
        };
        String file = "part%s.%s".formatted(part, format);
        Files.writeString(directory.resolve(file), whole);
        root.append("<include file=\"%s\" relativeToChangelogFile=\"true\"/>\n".formatted(file));
        text.setLength(0);
    }

    private static String sql(ChangeSet changeSet) {
        StringBuilder text = new StringBuilder("\n--changeset %s:%s".formatted(AUTHOR, changeSet.id()));
        changeSet
                .attributes()
                .forEach(
                        (key, value) -> text.append(' ').append(key).append(':').append(value));
        changeSet.comments().forEach(comment -> text.append('\n').append(comment));
        String delimiter =
                changeSet.attributes().getOrDefault("endDelimiter", ";").replace("\\n", "\n");
        String joined = String.join(delimiter.equals("//") ? "\n//\n" : delimiter + "\n", changeSet.sql());
        text.append('\n').append(joined);
        if (!"false".equals(changeSet.attributes().get("splitStatements"))) {
            text.append(delimiter.equals("//") ? "\n//" : delimiter);
        }
        return text.append("\n--rollback SELECT 1;\n").toString();
    }

    private static String xml(ChangeSet changeSet) {
        Node node = new Node("changeSet", new LinkedHashMap<>(), new ArrayList<>(changeSet.nodes()), "");
        node.with("id", changeSet.id()).with("author", AUTHOR);
        changeSet.attributes().forEach(node::with);
        return xml(node) + "\n";
    }

    private static String xml(Node node) {
        StringBuilder text = new StringBuilder("<" + node.name());
        node.attributes().forEach((key, value) -> text.append(" %s=\"%s\"".formatted(key, escaped(value))));
        text.append('>').append(escaped(node.text()));
        node.children().forEach(child -> text.append(xml(child)));
        return text.append("</%s>".formatted(node.name())).toString();
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;")
                .replace("\t", "&#9;");
    }

    private static String json(ChangeSet changeSet) {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("id", changeSet.id());
        map.put("author", AUTHOR);
        map.putAll(changeSet.attributes());
        List<Object> changes = new ArrayList<>();
        for (Node node : changeSet.nodes()) {
            switch (node.name()) {
                case "comment" -> map.put("comment", node.text());
                case "rollback" -> map.put("rollback", node.text());
                case "preConditions" -> {
                    List<Object> list = new ArrayList<>();
                    node.attributes().forEach((key, value) -> list.add(Map.of(key, value)));
                    node.children().forEach(child -> list.add(Map.of(child.name(), question(child))));
                    map.put("preConditions", list);
                }
                case "modifySql" -> {
                    Map<String, Object> its = new LinkedHashMap<>(node.attributes());
                    Node child = node.children().get(0);
                    its.put(child.name(), child.attributes());
                    map.put("modifySql", its);
                }
                default -> changes.add(Map.of(node.name(), change(node)));
            }
        }
        map.put("changes", changes);
        return json(Map.of("changeSet", map));
    }

    private static Object question(Node node) {
        if (Set.of("and", "or", "not").contains(node.name())) {
            return node.children().stream()
                    .map(child -> Map.of(child.name(), question(child)))
                    .toList();
        }
        Map<String, Object> map = new LinkedHashMap<>(node.attributes());
        if (node.name().equals("sqlCheck")) {
            map.put("sql", node.text());
        }
        if (!node.children().isEmpty()) {
            map.put(
                    "params",
                    node.children().stream()
                            .map(child -> Map.of("param", child.attributes()))
                            .toList());
        }
        return map;
    }

    private static Map<String, Object> change(Node node) {
        Map<String, Object> map = new LinkedHashMap<>(node.attributes());
        List<Object> columns = new ArrayList<>();
        for (Node child : node.children()) {
            switch (child.name()) {
                case "column" -> columns.add(Map.of("column", change(child)));
                case "constraints" -> map.put("constraints", child.attributes());
                case "where" -> map.put("where", child.text());
                case "whereParams" ->
                    map.put(
                            "whereParams",
                            child.children().stream()
                                    .map(param -> Map.of("param", param.attributes()))
                                    .toList());
                default -> throw new AssertionError(child.name());
            }
        }
        if (!columns.isEmpty()) {
            map.put("columns", columns);
        }
        if (!node.text().isEmpty()) {
            map.put(
                    switch (node.name()) {
                        case "createView" -> "selectQuery";
                        case "createProcedure" -> "procedureText";
                        case "sql" -> "sql";
                        default -> "message";
                    },
                    node.text());
        }
        return map;
    }

    private static String json(Object value) {
        if (value instanceof Map<?, ?> map) {
            List<String> entries = new ArrayList<>();
            map.forEach((key, its) -> entries.add(quoted(String.valueOf(key)) + ": " + json(its)));
            return "{" + String.join(", ", entries) + "}";
        }
        if (value instanceof List<?> list) {
            return "["
                    + String.join(", ", list.stream().map(RandomChangelog::json).toList()) + "]";
        }
        String text = String.valueOf(value);
        return Set.of("true", "false").contains(text) ? text : quoted(text);
    }

    private static String quoted(String text) {
        return "\""
                + text.replace("\\", "\\\\")
                        .replace("\"", "\\\"")
                        .replace("\n", "\\n")
                        .replace("\t", "\\t") + "\"";
    }
}
