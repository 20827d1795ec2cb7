/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.assess;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.assess.Assessment.Routing;
import org.shardflake.assess.Assessment.Statement;
import org.shardflake.assess.Assessment.Table;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/** Assesses a database. Runs no statement of the application, and changes nothing. */
public final class Assessor {

    private static final int OLDEST_VERSION = 12;
    private static final int OTHER_KEYS = 4;

    /** A key, and the destinations of the tables for it. */
    private record Judged(Sorting sorting, double keyedCalls) {

        double weight() {
            return sorting.weight() * (Double.isNaN(keyedCalls) ? 1 : 0.2 + keyedCalls);
        }

        Assessment.Key key() {
            return new Assessment.Key(
                    sorting.candidate().name(),
                    sorting.candidate().column().type(),
                    sorting.values(),
                    sorting.largestShare(),
                    sorting.shardedBytes(),
                    keyedCalls);
        }
    }

    private final Connection connection;
    private final SourceSchema schema;

    private Assessor(Connection connection) throws SQLException {
        this.connection = connection;
        this.schema = SourceSchema.read(connection);
    }

    /**
     * Assesses a database.
     *
     * @param url of the database. The login may read the catalog and plan the application's statements, as the owner of the tables may
     * @param key the sharding key, as {@link Assessment.Key#name()} writes it; null to propose one
     * @param statements SQL statements of the application, with semicolons between them; null for those of pg_stat_statements
     * @throws ShardflakeException if there is no such key, or if no key can be proposed
     */
    public static Assessment assess(ServerUrl url, @Nullable String key, @Nullable String statements) {
        return Sql.translating(() -> {
            try (Connection connection = url.connect("shardflake adopt assess")) {
                int version = connection.getMetaData().getDatabaseMajorVersion();
                if (version < OLDEST_VERSION) {
                    throw new ShardflakeException(
                            Kind.PRECONDITION,
                            "the database is of PostgreSQL %s".formatted(version),
                            "an assessment needs %s or later".formatted(OLDEST_VERSION),
                            null);
                }
                List<String> searchPath = url.searchPath();
                try (Sql.Ending ending = Sql.rollingBack(connection)) {
                    Sql.execute(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
                    return new Assessor(connection).assess(searchPath, key, statements);
                }
            }
        });
    }

    private Assessment assess(List<String> searchPath, @Nullable String key, @Nullable String given)
            throws SQLException {
        if (schema.tables().isEmpty()) {
            throw new ShardflakeException(
                    Kind.USAGE,
                    "database %s has no tables".formatted(Sql.text(connection, "SELECT current_database()")),
                    "name the database of the application",
                    null);
        }
        List<Assessment.Obstacle> obstacles = Obstacles.ofDatabase(connection);
        String database = Sql.text(connection, "SELECT current_database()");
        Optional<List<StatementSource.Recorded>> recorded =
                given == null ? StatementSource.recorded(connection) : Optional.of(StatementSource.parse(given));
        List<StatementSource.Planned> planned = plan(searchPath, recorded.orElse(List.of()));
        List<Judged> judged = Sorting.candidates(schema).stream()
                .map(candidate -> judge(new Sorting(schema, candidate), planned))
                .sorted(Comparator.comparingDouble(Judged::weight).reversed())
                .toList();
        Judged chosen = choose(judged, key);
        List<Assessment.Key> others = judged.stream()
                .filter(one -> !one.equals(chosen) && one.weight() > 0)
                .limit(OTHER_KEYS)
                .map(Judged::key)
                .toList();
        return new Assessment(
                database,
                Sql.text(connection, "SHOW server_version"),
                chosen.key(),
                others,
                schema.all().map(table -> table(chosen.sorting(), table)).toList(),
                obstacles,
                recorded.map(all -> given == null ? "pg_stat_statements" : "the file")
                        .orElse(null),
                planned.stream().map(one -> statement(chosen.sorting(), one)).toList());
    }

    private List<StatementSource.Planned> plan(List<String> searchPath, List<StatementSource.Recorded> recorded)
            throws SQLException {
        List<StatementSource.Planned> planned = new ArrayList<>();
        // As the application finds its tables, and for any value of a parameter.
        Sql.list(connection, """
                SELECT set_config('search_path', (SELECT string_agg(quote_ident(name), ', ') FROM unnest(?::text[]) name), true),
                       set_config('plan_cache_mode', 'force_generic_plan', true), set_config('statement_timeout', '10s', true),
                       set_config('max_parallel_workers_per_gather', '0', true), set_config('jit', 'off', true),
                       set_config('constraint_exclusion', 'off', true), set_config('enable_partition_pruning', 'off', true)
                """, row -> true, connection.createArrayOf("text", searchPath.toArray()));
        for (StatementSource.Recorded one : recorded) {
            planned.add(StatementSource.plan(connection, schema, one));
        }
        return planned;
    }

    private static Judged judge(Sorting sorting, List<StatementSource.Planned> planned) {
        long keyed = 0;
        long sharded = 0;
        for (StatementSource.Planned one : planned) {
            Routing routing = routing(sorting, one);
            boolean isKeyed = routing == Routing.KEY || routing == Routing.ID;
            keyed += isKeyed ? one.recorded().calls() : 0;
            sharded += routing == Routing.ELSEWHERE || routing == Routing.NOT_PLANNED
                    ? 0
                    : one.recorded().calls();
        }
        return new Judged(sorting, sharded == 0 ? Double.NaN : (double) keyed / sharded);
    }

    private static Routing routing(Sorting sorting, StatementSource.Planned planned) {
        return planned.plan() == null ? Routing.NOT_PLANNED : Routes.of(sorting, planned.plan());
    }

    private static Judged choose(List<Judged> judged, @Nullable String key) {
        if (judged.isEmpty()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "no table's primary key is referred to by others, and no column is in several tables, so no key can be proposed",
                    "add foreign keys, or keep the database on one server",
                    null);
        }
        if (key == null) {
            return judged.get(0);
        }
        return judged.stream()
                .filter(one -> unquoted(one.sorting().candidate().name()).equalsIgnoreCase(unquoted(key)))
                .findFirst()
                .orElseThrow(() -> new ShardflakeException(
                        Kind.USAGE,
                        "%s is not a possible key".formatted(key),
                        "possible are %s"
                                .formatted(String.join(
                                        ", ",
                                        judged.stream()
                                                .map(one -> one.sorting()
                                                        .candidate()
                                                        .name())
                                                .toList())),
                        null));
    }

    private static String unquoted(String name) {
        return name.replace("\"", "");
    }

    private Table table(Sorting sorting, SourceTable table) {
        Sorting.Place place = sorting.place(table.oid());
        return new Table(
                table.name(),
                place.placement(),
                sorting.path(table),
                place.column() == null ? null : place.column().name(),
                sorting.steps(table),
                sorting.keyQuery(table),
                table.targets().stream()
                        .filter(schema::has)
                        .map(oid -> schema.table(oid).name())
                        .sorted()
                        .toList(),
                table.rows(),
                table.bytes(),
                Obstacles.of(sorting, table));
    }

    private static Statement statement(Sorting sorting, StatementSource.Planned planned) {
        return new Statement(
                planned.recorded().sql(),
                planned.recorded().calls(),
                planned.recorded().millis(),
                routing(sorting, planned),
                planned.obstacle());
    }
}
