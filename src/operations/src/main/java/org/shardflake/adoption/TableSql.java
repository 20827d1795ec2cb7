/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import static java.util.stream.Collectors.joining;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.shardflake.adoption.AdoptionPlan.Goes;
import org.shardflake.adoption.SourceCatalog.Column;
import org.shardflake.adoption.SourceCatalog.Constraint;
import org.shardflake.adoption.SourceCatalog.Index;
import org.shardflake.adoption.SourceCatalog.Trigger;
import org.shardflake.server.SqlText;

/** Writes the SQL that creates a table in the shards, or among the reference tables, like one in the old database. */
final class TableSql {

    /** Matches functions whose values may belong to any shard; schema deploy refuses them as the default of a key. */
    private static final Pattern MADE_UP = Pattern.compile("(gen_random_uuid|uuidv[47]|uuid_generate_v[1-5]\\w*)\\(");

    private static final Set<String> SMALL_NUMBERS = Set.of("smallint", "integer");

    private final AdoptionPlan.Table plan;
    private final SourceCatalog.Table source;
    private final Set<String> widened;
    private final @Nullable String addedType;
    private final Map<Long, AdoptionPlan.Table> planned;
    private final Set<String> taken;
    private final SqlNames names;
    private final LeftOutList leftOut;
    private final Map<String, String> named = new HashMap<>();

    /**
     * @param widened the columns that are bigint in the shards
     * @param addedType the type of the column with the key that only the shards have
     * @param taken names of relations that others have
     * @param planned all tables of the plan, by oid
     */
    TableSql(
            AdoptionPlan.Table plan,
            SourceCatalog.Table source,
            Set<String> widened,
            @Nullable String addedType,
            Map<Long, AdoptionPlan.Table> planned,
            Set<String> taken,
            SqlNames names,
            LeftOutList leftOut) {
        this.plan = plan;
        this.source = source;
        this.widened = widened;
        this.addedType = addedType;
        this.planned = planned;
        this.taken = taken;
        this.names = names;
        this.leftOut = leftOut;
    }

    private boolean isSharded() {
        return plan.goes() == Goes.SHARDS;
    }

    private String target() {
        return written(plan.target());
    }

    private String written(String name) {
        return names.written(name);
    }

    private String written(List<String> columns) {
        return columns.stream().map(names::written).collect(joining(", "));
    }

    /** The table with its columns, constraints other than foreign keys, indexes and comments. */
    String create() {
        List<String> parts = new ArrayList<>();
        for (Column column : source.columns()) {
            parts.add(column(column));
        }
        if (plan.add() != null) {
            parts.add("%s %s NOT NULL".formatted(written(plan.add()), addedType));
        }
        for (Constraint constraint : source.constraints()) {
            if (!constraint.type().equals("f") && !isNotValid(constraint)) {
                parts.add("CONSTRAINT %s %s".formatted(written(name(constraint)), definition(constraint)));
            }
        }
        for (String id : uncheckedIds()) {
            // The ids of old rows do not contain their shard.
            parts.add("CONSTRAINT %s CHECK (true)".formatted(written(SqlText.start(id, 54) + "_of_shard")));
        }
        List<String> statements = new ArrayList<>();
        statements.add(
                "CREATE TABLE %s (\n    %s\n)%s".formatted(target(), String.join(",\n    ", parts), source.options()));
        for (Constraint constraint : source.constraints()) {
            if (isNotValid(constraint)) {
                // CREATE TABLE would make it valid.
                statements.add("ALTER TABLE %s ADD CONSTRAINT %s %s"
                        .formatted(target(), written(constraint.name()), constraint.definition()));
                leftOut.add(
                        plan.name(),
                        "rows that constraint %s refuses, which is NOT VALID".formatted(constraint.name()),
                        "correct them, and validate it: the shards check all rows that they get");
            }
        }
        for (Column column : source.columns()) {
            for (String setting : column.settings()) {
                statements.add(
                        "ALTER TABLE %s ALTER COLUMN %s %s".formatted(target(), written(column.name()), setting));
            }
        }
        for (Index index : source.indexes()) {
            String name = written(relation(index.name()));
            statements.add("CREATE %sINDEX %s ON %s USING %s"
                    .formatted(index.isUnique() ? "UNIQUE " : "", name, target(), index.using()));
            comment(statements, "INDEX " + name, index.comment());
        }
        if (plan.into() == null) {
            source.statistics().forEach(statistics -> statements.add(statistics.sql()));
        }
        comment(statements, "TABLE " + target(), source.comment());
        for (Column column : source.columns()) {
            boolean isKey = isSharded() && column.name().equals(plan.key());
            comment(
                    statements,
                    "COLUMN %s.%s".formatted(target(), written(column.name())),
                    comment(isKey, column.comment()));
        }
        if (plan.add() != null) {
            comment(statements, "COLUMN %s.%s".formatted(target(), written(plan.add())), comment(true, null));
        }
        for (Constraint constraint : source.constraints()) {
            if (!constraint.type().equals("f")) {
                comment(
                        statements,
                        "CONSTRAINT %s ON %s".formatted(written(name(constraint)), target()),
                        constraint.comment());
            }
        }
        return String.join(";\n", statements) + ";";
    }

    private static boolean isNotValid(Constraint constraint) {
        return constraint.type().equals("c") && constraint.definition().endsWith(" NOT VALID");
    }

    private static @Nullable String comment(boolean isKey, @Nullable String comment) {
        if (!isKey) {
            return comment;
        }
        return comment == null || comment.startsWith("shard key") ? "shard key" : "shard key; " + comment;
    }

    private static void comment(List<String> statements, String what, @Nullable String comment) {
        if (comment != null) {
            statements.add("COMMENT ON %s IS %s".formatted(what, oneLine(comment)));
        }
    }

    /** A literal in one line and without parameters: Liquibase would read comments in other lines, and replace parameters. */
    static String oneLine(String text) {
        String literal = SqlText.literal(text).strip();
        String escaped = literal.replace("\n", "\\n").replace("\r", "\\r").replace("${", "$\\x7B");
        return escaped.startsWith("E") || escaped.equals(literal) ? escaped : "E" + escaped;
    }

    /** The name of a constraint, which an index may have, too. */
    private String name(Constraint constraint) {
        return constraint.type().equals("c")
                ? constraint.name()
                : named.computeIfAbsent(constraint.name(), this::relation);
    }

    /** A name for an index that no other relation of the shard has. */
    private String relation(String name) {
        return taken.add(name) ? name : SqlText.shortened(plan.target() + "_" + name);
    }

    private String column(Column column) {
        StringBuilder sql = new StringBuilder(written(column.name()))
                .append(' ')
                .append(widened.contains(column.name()) ? "bigint" : column.type());
        if (column.collation() != null) {
            sql.append(" COLLATE ").append(column.collation());
        }
        if (column.isNotNull() || column.name().equals(plan.shardKey())) {
            sql.append(" NOT NULL");
        }
        if (isSharded() && column.name().equals(plan.key()) && !column.isNotNull()) {
            leftOut.add(
                    plan.name(),
                    "rows whose %s is null".formatted(column.name()),
                    "fill it, and make it NOT NULL: a row without a key is in no shard");
        }
        return sql.append(value(column)).toString();
    }

    private String value(Column column) {
        if (column.isCounted()) {
            return counted(column);
        }
        if (column.value() == null) {
            return "";
        }
        if (isKey(column) && MADE_UP.matcher(column.value()).find()) {
            leftOut.add(
                    plan.name(),
                    "the default of %s".formatted(column.name()),
                    "let the application make the key, since it routes by it: a made-up one leads to any shard");
            return "";
        }
        return switch (column.generated()) {
            case "" -> " DEFAULT " + column.value();
            case "v" -> " GENERATED ALWAYS AS (%s) VIRTUAL".formatted(column.value());
            default -> " GENERATED ALWAYS AS (%s) STORED".formatted(column.value());
        };
    }

    /** Replaces a sequence as a column's default: its numbers would be unique in one shard only. */
    private String counted(Column column) {
        if (!isSharded()) {
            leftOut.add(
                    plan.name(),
                    "the sequence of %s".formatted(column.name()),
                    "insert rows of reference tables with their ids: each server would count for itself");
            return "";
        }
        if (isWholeKey(column)) {
            // schema deploy gives it its DEFAULT.
            if (plan.ids() == AdoptionPlan.Ids.KEPT) {
                leftOut.add(
                        plan.name(),
                        "the sequence of %s".formatted(column.name()),
                        "the application has to give the ids, as id: kept says");
            }
            return "";
        }
        if (isKey(column)) {
            leftOut.add(
                    plan.name(),
                    "the sequence of %s".formatted(column.name()),
                    "let the application give the key, since it routes by it: a number of a sequence leads to any shard");
            return "";
        }
        if (!widened.contains(column.name()) && !column.plainType().equals("bigint")) {
            leftOut.add(
                    plan.name(),
                    "the sequence of %s".formatted(column.name()),
                    "its numbers would be unique in one shard only: let the application fill it");
            return "";
        }
        leftOut.add(
                plan.name(),
                "the sequence of %s".formatted(column.name()),
                "next_id fills it with numbers that are unique over all shards, and far larger");
        return " DEFAULT next_id()";
    }

    private boolean isKey(Column column) {
        return isSharded() && column.name().equals(plan.shardKey());
    }

    private boolean isWholeKey(Column column) {
        return source.primaryKey().equals(List.of(column.name()));
    }

    /** The columns whose old values would fail the check of ids that schema deploy adds. */
    private List<String> uncheckedIds() {
        if (!isSharded()) {
            return List.of();
        }
        return source.columns().stream()
                .filter(column ->
                        widened.contains(column.name()) || column.type().equals("bigint"))
                .filter(column ->
                        isWholeKey(column) ? column.value() == null || column.isCounted() : column.isCounted())
                .map(Column::name)
                .filter(name -> !name.equals(plan.key()) && !refers(name) && !hasConstraint(name + "_of_shard"))
                .toList();
    }

    private boolean hasConstraint(String name) {
        return source.constraints().stream()
                .anyMatch(constraint -> constraint.name().equals(name));
    }

    private boolean refers(String column) {
        return source.constraints().stream()
                .anyMatch(constraint -> constraint.type().equals("f")
                        && constraint.columns().contains(column)
                        && isBrought(constraint));
    }

    private String definition(Constraint constraint) {
        if (constraint.type().equals("p") && constraint.isDeferrable()) {
            leftOut.add(
                    plan.name(),
                    "that its primary key is DEFERRABLE",
                    "PostgreSQL replicates no changes by such a key: let no statement make it equal for a moment");
            return constraint.definition().replaceFirst(" DEFERRABLE.*$", "");
        }
        return constraint.definition();
    }

    /** Reports unique constraints that will hold only within each shard. */
    void checkUnique(boolean hasLookup, List<String> keyColumns) {
        if (!isSharded()) {
            return;
        }
        for (Constraint constraint : source.constraints()) {
            if (Set.of("p", "u").contains(constraint.type())) {
                checkUnique(constraint.name(), constraint.columns(), hasLookup, keyColumns);
            } else if (constraint.type().equals("x") && !constraint.columns().containsAll(keyColumns)) {
                leftOut.add(
                        plan.name(),
                        "exclusion constraint %s over all shards".formatted(constraint.name()),
                        "it holds in each shard; rows of different keys may now overlap");
            }
        }
        for (Index index : source.indexes()) {
            if (index.isUnique()) {
                checkUnique(index.name(), index.isPartial() ? List.of() : index.columns(), hasLookup, keyColumns);
            }
        }
    }

    private void checkUnique(String name, List<String> columns, boolean hasLookup, List<String> keyColumns) {
        boolean isWithinKey = !keyColumns.isEmpty() && columns.containsAll(keyColumns);
        boolean hasNumber =
                columns.stream().anyMatch(column -> source.column(column).isCounted());
        boolean isWholeKey = columns.size() == 1 && columns.equals(source.primaryKey());
        boolean isId = hasNumber
                || (isWholeKey
                        && (plan.ids() == AdoptionPlan.Ids.NEXT_ID
                                || source.column(columns.get(0)).type().equals("uuid")));
        if (!isWithinKey && !isId && !(hasLookup && columns.size() == 1)) {
            leftOut.add(
                    plan.name(),
                    "%s is unique in each shard only, not over all".formatted(name),
                    "add the key to it if equal values may be in different shards; else have a unique lookup");
        }
    }

    /** The foreign keys that the shards' tables get, too; empty without any. */
    String foreignKeys() {
        List<String> statements = new ArrayList<>();
        for (Constraint constraint : source.constraints()) {
            if (!constraint.type().equals("f")) {
                continue;
            }
            AdoptionPlan.Table target = planned.get(constraint.target());
            if (target == null || !isBrought(constraint)) {
                leaveOut(constraint, target);
                continue;
            }
            if (isSharded()
                    && constraint.actions().contains(" SET NULL")
                    && constraint.columns().contains(plan.shardKey())) {
                leftOut.add(
                        plan.name(),
                        "SET NULL of foreign key %s".formatted(constraint.name()),
                        "the key is NOT NULL in the shards: delete these rows, too, or give them another key");
            }
            String name = written(target.target());
            statements.add("ALTER TABLE %s ADD CONSTRAINT %s FOREIGN KEY (%s) REFERENCES %s (%s)%s"
                    .formatted(
                            target(),
                            written(constraint.name()),
                            referring(constraint, constraint.columns()),
                            isSharded() && target.goes() == Goes.REFERENCE ? "reference." + name : name,
                            referring(constraint, constraint.targetColumns()),
                            constraint.actions()));
            comment(
                    statements,
                    "CONSTRAINT %s ON %s".formatted(written(constraint.name()), target()),
                    constraint.comment());
        }
        return statements.isEmpty() ? "" : String.join(";\n", statements) + ";";
    }

    private String referring(Constraint constraint, List<String> columns) {
        int last = columns.size() - 1;
        return constraint.hasPeriod()
                ? "%s, PERIOD %s".formatted(written(columns.subList(0, last)), written(columns.get(last)))
                : written(columns);
    }

    private boolean isBrought(Constraint constraint) {
        AdoptionPlan.Table target = planned.get(constraint.target());
        if (target == null || target.goes() == Goes.STAYS) {
            return false;
        }
        if (!isSharded()) {
            return target.goes() == Goes.REFERENCE;
        }
        return target.goes() == Goes.REFERENCE || isAlongKey(constraint, target);
    }

    /** Whether a foreign key's two rows always have the same key, and so are in the same shard. */
    private boolean isAlongKey(Constraint constraint, AdoptionPlan.Table target) {
        if (!plan.path().isEmpty()) {
            AdoptionPlan.Step step = plan.path().get(0);
            return step.to().equals(target.name())
                    && step.columns().equals(constraint.columns())
                    && step.toColumns().equals(constraint.targetColumns());
        }
        int key = constraint.columns().indexOf(plan.key());
        return key >= 0 && constraint.targetColumns().get(key).equals(target.key());
    }

    private void leaveOut(Constraint constraint, AdoptionPlan.@Nullable Table target) {
        String to = target == null
                ? "a table that is not in the plan"
                : target.name().toString();
        leftOut.add(
                plan.name(),
                "foreign key %s (%s) to %s".formatted(constraint.name(), String.join(", ", constraint.columns()), to),
                target != null && target.goes() == Goes.SHARDS && isSharded()
                        ? "its rows may have another key; if they never have, write it into the changelog; else check it in the application"
                        : isSharded()
                                ? "that table does not go along: make it a reference table, or check it in the application"
                                : "what is not in the shards cannot refer to their rows: check it in the application");
    }

    /** The triggers; empty without any. */
    String triggers() {
        List<String> statements = new ArrayList<>();
        for (Trigger trigger : source.triggers()) {
            if (plan.into() != null) {
                leftOut.add(
                        plan.name(),
                        "trigger %s".formatted(trigger.name()),
                        "write it into the changelog: the table has another name there");
                continue;
            }
            statements.add(trigger.definition());
            switch (trigger.enabled()) {
                case "D" -> alter(statements, trigger, "DISABLE");
                case "R" -> alter(statements, trigger, "ENABLE REPLICA");
                case "A" -> alter(statements, trigger, "ENABLE ALWAYS");
                default -> {}
            }
            comment(statements, "TRIGGER %s ON %s".formatted(written(trigger.name()), target()), trigger.comment());
        }
        return statements.isEmpty() ? "" : String.join(";\n", statements) + ";";
    }

    /**
     * The triggers that fill the key which only the shards' table has, so that an INSERT or UPDATE of the old table works there, too; empty without such a
     * column. They cost nothing where the key is given.
     */
    String filledKey() {
        if (plan.add() == null) {
            return "";
        }
        AdoptionPlan.Step step = plan.path().get(0);
        AdoptionPlan.Table parent = planned.values().stream()
                .filter(table -> table.name().equals(step.to()))
                .findFirst()
                .orElseThrow();
        String name = "%s_%s_of_%s".formatted(plan.target(), plan.add(), parent.target());
        return ownKey(step, parent, name) + followedKey(step, parent, written(SqlText.shortened(name + "_follows")));
    }

    /** The triggers of the table itself; empty if a column that leads to the key is generated, which no BEFORE trigger sees. */
    private String ownKey(AdoptionPlan.Step step, AdoptionPlan.Table parent, String name) {
        List<String> generated = step.columns().stream()
                .filter(column -> !source.column(column).generated().isEmpty())
                .toList();
        if (!generated.isEmpty()) {
            leftOut.add(
                    plan.name(),
                    "the key of new rows: %s, which leads to it, is generated, and no trigger sees it"
                            .formatted(String.join(", ", generated)),
                    "give the old table a column with the key, or write the generated value as that of an ordinary column");
            return "";
        }
        String key = written(String.valueOf(plan.add()));
        String function = written(SqlText.shortened(name));
        String body = """

                BEGIN
                    SELECT p.%s INTO NEW.%s FROM %s p WHERE (%s) = (%s);
                    RETURN NEW;
                END
                """.formatted(
                        written(String.valueOf(parent.shardKey())),
                        key,
                        written(parent.target()),
                        row("p", step.toColumns()),
                        row("NEW", step.columns()));
        return """
                CREATE FUNCTION %1$s() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS %2$s;
                COMMENT ON FUNCTION %1$s() IS 'Gives a row the key of the one that it refers to, since the old table has no such column';
                CREATE TRIGGER %1$s BEFORE INSERT ON %3$s FOR EACH ROW WHEN (NEW.%4$s IS NULL) EXECUTE FUNCTION %1$s();
                """.formatted(function, SqlText.body(body), target(), key)
                + changedKey(step, written(SqlText.shortened(name + "_changed")), function);
    }

    /**
     * The trigger that changes the key with the columns that lead to it. A row that refers to none any more, as after ON DELETE SET NULL, keeps its key.
     */
    private String changedKey(AdoptionPlan.Step step, String name, String function) {
        return """
                CREATE TRIGGER %1$s BEFORE UPDATE OF %2$s ON %3$s FOR EACH ROW
                    WHEN (ROW(%5$s) IS NOT NULL AND NEW.%4$s IS NOT DISTINCT FROM OLD.%4$s AND ROW(%5$s) IS DISTINCT FROM ROW(%6$s)) EXECUTE FUNCTION %7$s();
                """.formatted(
                        name,
                        written(step.columns()),
                        target(),
                        written(String.valueOf(plan.add())),
                        row("NEW", step.columns()),
                        row("OLD", step.columns()),
                        function);
    }

    /** The trigger of the table above that changes the key with its own; rows to which the application has given another keep that. */
    private String followedKey(AdoptionPlan.Step step, AdoptionPlan.Table parent, String name) {
        List<String> deciding = new ArrayList<>(List.of(String.valueOf(parent.shardKey())));
        if (parent.add() != null) {
            deciding.addAll(parent.path().get(0).columns());
        }
        String key = written(String.valueOf(plan.add()));
        String parents = written(String.valueOf(parent.shardKey()));
        String body = """

                BEGIN
                    UPDATE %s c SET %s = NEW.%s WHERE (%s) = (%s) AND c.%s = OLD.%s;
                    RETURN NULL;
                END
                """.formatted(
                        target(), key, parents, row("c", step.columns()), row("NEW", step.toColumns()), key, parents);
        return """
                CREATE FUNCTION %1$s() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS %2$s;
                COMMENT ON FUNCTION %1$s() IS 'Gives rows the new key of the one that they refer to, since the old table has no such column. Drop it with that table';
                CREATE TRIGGER %1$s AFTER UPDATE OF %3$s ON %4$s FOR EACH ROW
                    WHEN (NEW.%5$s IS DISTINCT FROM OLD.%5$s) EXECUTE FUNCTION %1$s();
                """.formatted(name, SqlText.body(body), written(deciding), written(parent.target()), parents);
    }

    private String row(String of, List<String> columns) {
        return columns.stream().map(column -> of + "." + written(column)).collect(joining(", "));
    }

    private void alter(List<String> statements, Trigger trigger, String how) {
        statements.add("ALTER TABLE %s %s TRIGGER %s".formatted(target(), how, written(trigger.name())));
    }

    /** Whether a column is too small for next_id, and has to be widened. */
    static boolean isSmallNumber(Column column) {
        return SMALL_NUMBERS.contains(column.type());
    }
}
