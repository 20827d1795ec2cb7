/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.adoption.AdoptionPlan.Changelogs;
import org.shardflake.adoption.AdoptionPlan.Goes;
import org.shardflake.adoption.AdoptionPlan.Ids;
import org.shardflake.adoption.AdoptionPlan.Lookup;
import org.shardflake.adoption.AdoptionPlan.Source;
import org.shardflake.adoption.AdoptionPlan.Step;
import org.shardflake.adoption.AdoptionPlan.Table;
import org.shardflake.assess.Assessment;
import org.shardflake.assess.Assessment.Placement;
import org.shardflake.assess.Assessor;
import org.shardflake.flyway.AppliedMigrations;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.server.SqlText;

/** Plans how a database goes into shards. Only reads. */
public final class AdoptionPlanner {

    private static final Set<String> FOUND_TYPES =
            Set.of("smallint", "integer", "bigint", "text", "character varying", "uuid", "citext");

    private static final Set<String> NUMBERS = Set.of("smallint", "integer", "bigint");

    private final Assessment assessment;
    private final SourceCatalog catalog;
    private final Changelogs changelogs;
    private final Map<TableName, Table> tables = new HashMap<>();
    private final LeftOutList leftOut = new LeftOutList();

    private AdoptionPlanner(Assessment assessment, SourceCatalog catalog, Changelogs changelogs) {
        this.assessment = assessment;
        this.catalog = catalog;
        this.changelogs = changelogs;
    }

    /**
     * A proposed plan, with the definitions in the database and the migrations applied there.
     *
     * @param plan made of the assessment alone
     * @param applied Flyway's history that shards take over
     */
    record Proposal(AdoptionPlan plan, SourceCatalog catalog, Optional<AppliedMigrations> applied) {}

    /**
     * Makes a plan.
     *
     * @param url of the database, as for {@link Assessor#assess}
     * @param key the sharding key, as {@link Assessment.Key#name()} writes it; null to propose one
     * @param statements SQL statements of the application, with semicolons between them; null for those of pg_stat_statements
     * @param changelogs where the changelogs will be
     * @param history chooses from Flyway's histories the one that shards take over
     * @throws ShardflakeException if there is no such key, or if no key can be proposed
     */
    static Proposal propose(
            ServerUrl url,
            @Nullable String key,
            @Nullable String statements,
            Changelogs changelogs,
            Function<List<AppliedMigrations>, Optional<AppliedMigrations>> history) {
        List<AppliedMigrations> before =
                Sql.translating(() -> Sql.with(url.connect("shardflake adopt plan"), AdoptionPlanner::applied));
        Optional<AppliedMigrations> chosen = history.apply(before);
        Assessment assessment = Assessor.assess(url, key, statements);
        return Sql.translating(() -> {
            try (Connection connection = url.connect("shardflake adopt plan");
                    Sql.Ending ending = Sql.rollingBack(connection)) {
                Sql.execute(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
                SourceCatalog catalog = SourceCatalog.read(connection);
                List<AppliedMigrations> applied = applied(connection);
                // A table that a migration has made since then is missing from the assessment, but its version is in
                // the history.
                if (!applied.equals(before)) {
                    throw new ShardflakeException(
                            Kind.PRECONDITION,
                            "Flyway has changed its history while the database was assessed. Nothing was written",
                            "run this again when no migration is running",
                            null);
                }
                return new Proposal(
                        new AdoptionPlanner(assessment, catalog, changelogs).plan(applied, chosen), catalog, chosen);
            }
        });
    }

    /** The histories of Flyway in the database. */
    private static List<AppliedMigrations> applied(Connection connection) throws SQLException {
        List<AppliedMigrations> applied = new ArrayList<>();
        for (String table : AppliedMigrations.tables(connection)) {
            applied.add(AppliedMigrations.read(connection, table));
        }
        return List.copyOf(applied);
    }

    private AdoptionPlan plan(List<AppliedMigrations> applied, Optional<AppliedMigrations> chosen) {
        for (Assessment.Table table : assessment.tables()) {
            TableName name = TableName.parse(table.name());
            if (catalog.tables().containsKey(name)) {
                tables.put(name, place(table, name));
            }
        }
        keepAtHome();
        Set<String> targets = new HashSet<>();
        List<Table> all = tables.values().stream()
                .sorted((one, other) -> one.name().compareTo(other.name()))
                .map(table -> named(table, targets))
                .toList();
        List<String> schemas =
                all.stream().map(table -> table.name().schema()).distinct().toList();
        boolean hasReference = all.stream().anyMatch(table -> table.goes() == Goes.REFERENCE);
        // Functions that tables need come along.
        assessment.obstacles().stream()
                .filter(one -> !one.problem().startsWith("functions:")
                        && !one.problem().startsWith("Flyway's history"))
                .forEach(one -> leftOut.add(null, one.problem(), one.remedy()));
        applied.forEach(history -> leftOut.add(
                null,
                "Flyway's history, %s, whose last version is %s"
                        .formatted(history.table(), history.last().orElse("none")),
                chosen.map(its -> its.equals(history)
                                ? "the table stays; shards take over what it has from the file that ends with .flyway.yaml, before they get later migrations"
                                : "the table stays; shards have one history, and take over that of %s"
                                        .formatted(its.table()))
                        .orElse("the table stays; shards have one history; to have them take over this one: %s"
                                .formatted(
                                        CliCommand.ADOPT_PLAN_HISTORY.withOption("flyway-history", history.table())))));
        return new AdoptionPlan(
                new Source(assessment.database(), schemas),
                key(all),
                all,
                lookups(all),
                hasReference ? changelogs : new Changelogs(changelogs.shards(), null),
                leftOut.all());
    }

    private Table place(Assessment.Table table, TableName name) {
        List<Step> path = table.steps().stream()
                .map(step -> new Step(step.columns(), TableName.parse(step.to()), step.toColumns()))
                .toList();
        Goes goes = switch (table.placement()) {
            case PRIMARY_KEY, COLUMN, PATH -> Goes.SHARDS;
            case REFERENCE -> Goes.REFERENCE;
            case STAYS -> Goes.STAYS;
        };
        return new Table(
                name,
                goes,
                null,
                table.key(),
                path,
                path.isEmpty() ? null : added(name),
                goes == Goes.SHARDS ? ids(name) : Ids.KEPT);
    }

    private SourceCatalog.Table source(TableName name) {
        SourceCatalog.Table table = catalog.tables().get(name);
        if (table == null) {
            throw new IllegalArgumentException("no table " + name);
        }
        return table;
    }

    private Ids ids(TableName name) {
        SourceCatalog.Table table = source(name);
        List<String> key = table.primaryKey();
        boolean isCounted =
                key.size() == 1 && table.column(key.get(0)).isCounted() && isNumber(table.column(key.get(0)));
        return isCounted ? Ids.NEXT_ID : Ids.KEPT;
    }

    private static boolean isNumber(SourceCatalog.Column column) {
        return !column.isDomain()
                && (TableSql.isSmallNumber(column) || column.type().equals("bigint"));
    }

    /** A name for the key column to add to a table without one: the name that most tables use. */
    private String added(TableName name) {
        Map<String, Integer> counts = new HashMap<>();
        assessment.tables().stream()
                .filter(table -> table.placement() == Placement.COLUMN && table.key() != null)
                .forEach(table -> counts.merge(String.valueOf(table.key()), 1, Integer::sum));
        String usual = counts.entrySet().stream()
                .max(Map.Entry.<String, Integer>comparingByValue().thenComparing(Map.Entry.comparingByKey()))
                .map(Map.Entry::getKey)
                .orElse("shard_key");
        String added = usual;
        for (int i = 2; source(name).has(added); i++) {
            added = "shard_key" + (i == 2 ? "" : "_" + i);
        }
        return added;
    }

    /** Leaves out of the shards the tables that cannot be there, and those that reach the key only through them. */
    private void keepAtHome() {
        for (Table table : List.copyOf(tables.values())) {
            if (table.goes() != Goes.STAYS && source(table.name()).primaryKey().isEmpty()) {
                stay(
                        table,
                        "all its rows: it has no primary key",
                        "add one, and run the plan again: rows are copied, compared and replicated by it");
            }
            List<String> unfit = source(table.name()).unfit();
            if (table.goes() != Goes.STAYS && !unfit.isEmpty()) {
                stay(table, "all its rows: " + unfit.get(0), unfit.get(1));
            }
        }
        boolean found = true;
        while (found) {
            found = false;
            for (Table table : List.copyOf(tables.values())) {
                for (Step step : table.path()) {
                    Table to = tables.get(step.to());
                    if (table.goes() == Goes.SHARDS && (to == null || to.goes() != Goes.SHARDS)) {
                        stay(
                                table,
                                "all its rows: they lead to the key through %s, which stays".formatted(step.to()),
                                "let that table go, or give this one a column with the key");
                        found = true;
                    }
                }
            }
        }
    }

    private void stay(Table table, String problem, String remedy) {
        tables.put(table.name(), new Table(table.name(), Goes.STAYS, null, null, List.of(), null, Ids.KEPT));
        leftOut.add(table.name(), problem, remedy);
    }

    /** Gives a table a unique name: the shards have one schema, but tables of different schemas may have the same name. */
    private Table named(Table table, Set<String> targets) {
        if (table.goes() == Goes.STAYS) {
            return table;
        }
        String target = table.name().table();
        for (int i = 1; !targets.add(table.goes() + target); i++) {
            target = SqlText.shortened(
                    "%s_%s%s".formatted(table.name().schema(), table.name().table(), i == 1 ? "" : "_" + i));
        }
        String into = target.equals(table.name().table()) ? null : target;
        return new Table(table.name(), table.goes(), into, table.key(), table.path(), table.add(), table.ids());
    }

    private AdoptionPlan.Key key(List<Table> all) {
        for (Assessment.Table table : assessment.tables()) {
            if (table.placement() == Placement.PRIMARY_KEY && table.key() != null) {
                TableName name = TableName.parse(table.name());
                return new AdoptionPlan.Key(name, table.key());
            }
        }
        return all.stream()
                .map(Table::key)
                .filter(Objects::nonNull)
                .findFirst()
                .map(column -> new AdoptionPlan.Key(null, column))
                .orElseThrow(() -> new ShardflakeException(
                        ShardflakeException.Kind.PRECONDITION,
                        "no table with key %s can go into the shards"
                                .formatted(assessment.key().name()),
                        "give the tables primary keys, or choose another key",
                        null));
    }

    /** A valid name for a lookup that is not taken yet. */
    private static String lookupName(String name, Set<String> others) {
        String plain =
                name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9_.]", "_").replaceFirst("^(?=[0-9.])", "_");
        String free = plain;
        for (int i = 2; !others.add(free); i++) {
            free = plain + "_" + i;
        }
        return free;
    }

    private boolean hasNumberAsKey(List<Table> all) {
        return all.stream()
                .filter(table -> table.goes() == Goes.SHARDS && table.key() != null)
                .allMatch(table -> NUMBERS.contains(source(table.name())
                        .column(Objects.requireNonNull(table.key()))
                        .plainType()));
    }

    /** The lookups for ids that do not contain their shard, and for columns that were unique in the whole database. */
    private List<Lookup> lookups(List<Table> all) {
        List<Lookup> found = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (Table table : all) {
            if (table.goes() != Goes.SHARDS) {
                continue;
            }
            SourceCatalog.Table its = source(table.name());
            Set<String> columns = new LinkedHashSet<>();
            if (its.primaryKey().size() == 1) {
                columns.add(its.primaryKey().get(0));
            }
            its.constraints().stream()
                    .filter(constraint -> constraint.type().equals("u")
                            && constraint.columns().size() == 1)
                    .forEach(constraint -> columns.add(constraint.columns().get(0)));
            its.indexes().stream()
                    .filter(index -> index.isUnique()
                            && !index.isPartial()
                            && index.columns().size() == 1)
                    .forEach(index -> columns.add(index.columns().get(0)));
            columns.remove(table.key());
            if (!table.path().isEmpty()) {
                columns.removeIf(column -> table.path().get(0).columns().equals(List.of(column)));
            }
            for (String column : columns) {
                if (FOUND_TYPES.contains(its.column(column).plainType())) {
                    String name = lookupName(table.target() + "." + column, names);
                    found.add(new Lookup(name, table.name(), List.of(column), true));
                }
            }
        }
        if (!found.isEmpty() && !hasNumberAsKey(all)) {
            leftOut.add(
                    null,
                    "lookups of ids and unique values: the key is not an integer, which lookups of a column need",
                    "find rows by their key; where that is not possible, have the application claim values of a lookup without a source");
            return List.of();
        }
        return found;
    }
}
