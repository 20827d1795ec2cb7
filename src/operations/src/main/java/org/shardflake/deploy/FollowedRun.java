/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.deploy.ShardPlan.Step;
import org.shardflake.jdbc.Sql;

/**
 * Deploys to moving shards and their copies, over one session on each of the two servers. For one thread.
 *
 * <p>Both servers run the changesets before either commits, and their schemas are compared then. What remains is a death between the two commits, which
 * the order of {@link FollowedSql} makes harmless: the next deployment finds what one of the two lacks.
 *
 * <p>What lets a shard accept less is run there first, which keeps writers out. Its copy gets it when it has all that was written before.
 */
final class FollowedRun implements AutoCloseable {

    private static final Duration CATCH_UP = Duration.ofSeconds(20);

    private static final String CHECKS = """
            SELECT pg_catalog.format('%%I.%%I', n.nspname, c.relname), pg_catalog.quote_ident(k.conname), pg_catalog.pg_get_constraintdef(k.oid), c.relname
              FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = ? AND k.contype = 'c' AND c.relkind = 'r' AND %s
            """;

    private final Follower.Held follower;
    private final DeploySettings settings;
    private final End shard;
    private final End copy;
    private @Nullable End current;
    private boolean isHalfDone;
    private boolean hasNewTables;

    /** One of the two servers, with its session. */
    private static final class End {

        private final Connection connection;
        private final ShardRun run;
        private final String name;
        private TableState before = new TableState(Map.of(), Set.of(), Map.of());
        private ShardRun.@Nullable Statements statements;
        private boolean hasNewTables;

        End(Connection connection, ShardRun run, String name) {
            this.connection = connection;
            this.run = run;
            this.name = name;
        }

        ShardRun.Statements begin(int number, boolean stepwise) throws SQLException {
            before = TableState.of(connection, number);
            ShardRun.Statements its = run.statements(number, stepwise);
            statements = its;
            return its;
        }

        /** Rolls back after a failure, which is thrown itself if it ended the session. */
        <X extends Exception> void rollBackAfter(X failure) throws X {
            try {
                if (connection.getAutoCommit()) {
                    return;
                }
            } catch (SQLException e) {
                failure.addSuppressed(e);
                throw failure;
            }
            run.rollBackAfter(failure);
        }
    }

    /**
     * Connects to both servers.
     *
     * @param onShard creates what works on the server of the shards
     * @param onCopy the same for the copies
     */
    FollowedRun(
            Follower.Held follower,
            String server,
            DeploySettings settings,
            Function<Connection, ShardRun> onShard,
            Function<Connection, ShardRun> onCopy)
            throws SQLException {
        this.follower = follower;
        this.settings = settings;
        Connection here = follower.connectToShards();
        try {
            Connection there = follower.connectToCopies();
            shard = new End(here, onShard.apply(here), server);
            copy = new End(there, onCopy.apply(there), follower.server());
        } catch (SQLException | RuntimeException e) {
            Sql.close(here);
            throw e;
        }
    }

    /** Deploys the pending changesets of a shard and its copy. */
    Optional<ShardFailure> deploy(ShardPlan.Followed plan) throws SQLException, InterruptedException {
        hasNewTables = false;
        Optional<ShardFailure> failure = run(plan);
        if (hasNewTables) {
            follower.learnTables();
        }
        return failure;
    }

    private Optional<ShardFailure> run(ShardPlan.Followed plan) throws SQLException, InterruptedException {
        for (ShardPlan.Followed.Group group : plan.groups()) {
            Optional<ShardFailure> failure = group.isAlone() ? alone(plan, group) : together(plan, group);
            if (failure.isPresent()) {
                return failure;
            }
        }
        return Optional.empty();
    }

    /** Whether SQL may have changed the session in a way that the next shard must not see. */
    boolean leftSomething() {
        return shard.run.leftSomething() || copy.run.leftSomething();
    }

    /** Builds or drops an index concurrently, on one server after the other. */
    private Optional<ShardFailure> alone(ShardPlan.Followed plan, ShardPlan.Followed.Group group)
            throws SQLException, InterruptedException {
        List<End> ends = group.isShardFirst() ? List.of(shard, copy) : List.of(copy, shard);
        for (End end : ends) {
            List<Step> steps = end == shard ? group.onShard() : group.onCopy();
            if (steps.isEmpty()) {
                continue;
            }
            if (end == copy && group.isShardFirst() && !group.onShard().isEmpty() && !follower.catchesUp(CATCH_UP)) {
                return Optional.of(copy.begin(plan.shard(), false).failure(behind()));
            }
            Optional<ShardFailure> failure = end.run.alone(plan.shard(), steps.get(0));
            if (failure.isPresent()) {
                return failure;
            }
            if (end == ends.get(0)) {
                follower.halfDone();
            }
        }
        return Optional.empty();
    }

    private Optional<ShardFailure> together(ShardPlan.Followed plan, ShardPlan.Followed.Group group)
            throws SQLException, InterruptedException {
        boolean stepwise = false;
        for (int tried = 1; ; tried++) {
            try {
                Optional<String> failure = attempt(plan, group, stepwise);
                if (failure.isEmpty()) {
                    return Optional.empty();
                }
                rollBack();
                boolean isBehind = failure.get().equals(behind());
                if (!isBehind || tried >= settings.tries()) {
                    return Optional.of(current().failure(failure.get()));
                }
            } catch (SQLException e) {
                if (isHalfDone) {
                    throw e; // The next deployment does the rest.
                }
                End failing = current == null ? shard : current;
                shard.rollBackAfter(e);
                copy.rollBackAfter(e);
                boolean isBusy = ShardRun.isInTheWay(e) && tried < settings.tries();
                if (!isBusy && stepwise && failing.statements != null) {
                    return Optional.of(failing.statements.failure(e));
                }
                stepwise |= !isBusy;
                if (!isBusy) {
                    continue;
                }
            } catch (DeployException e) {
                ShardRun.Statements failing = current();
                shard.rollBackAfter(e);
                copy.rollBackAfter(e);
                return Optional.of(failing.failure(e));
            }
            ShardRun.pause(tried);
        }
    }

    private ShardRun.Statements current() {
        End end = current == null ? shard : current;
        if (end.statements == null) {
            throw new IllegalStateException("nothing was begun");
        }
        return end.statements;
    }

    private String behind() {
        return "its copy on %s did not get in time what was written; the status of move %s says what keeps it back"
                .formatted(follower.server(), follower.move());
    }

    private void rollBack() throws SQLException {
        for (End end : List.of(shard, copy)) {
            if (!end.connection.getAutoCommit()) {
                end.connection.rollback();
                end.connection.setAutoCommit(true);
            }
        }
    }

    /** Makes one attempt. Returns why it must not be committed, if so. */
    private Optional<String> attempt(ShardPlan.Followed plan, ShardPlan.Followed.Group group, boolean stepwise)
            throws SQLException {
        int number = plan.shard();
        boolean isBoth = !group.onShard().isEmpty() && !group.onCopy().isEmpty();
        boolean drains = isBoth && group.isShardFirst();
        current = shard;
        shard.begin(number, stepwise);
        current = copy;
        copy.begin(number, stepwise);
        if (drains && !follower.catchesUp(CATCH_UP)) { // before writers are kept out
            return Optional.of(behind());
        }
        List<End> order = new ArrayList<>();
        for (End end : group.isShardFirst() ? List.of(shard, copy) : List.of(copy, shard)) {
            List<Step> steps = end == shard ? group.onShard() : group.onCopy();
            if (steps.isEmpty()) {
                continue;
            }
            current = end;
            if (end == copy && drains && !follower.catchesUp(settings.lockTimeout())) {
                return Optional.of(behind());
            }
            ShardRun.Statements statements = current();
            end.run.open(statements, number, steps);
            order.add(end);
            Optional<String> trouble =
                    TableState.of(end.connection, number).trouble(end.before, follower.learnsTables());
            if (trouble.isPresent()) {
                return trouble.map(FollowedRun::laterOnly);
            }
            end.hasNewTables = TableState.of(end.connection, number).hasMoreThan(end.before);
        }
        if (copy.hasNewTables) {
            leaveUnvalidated(number);
        }
        for (End end : order) {
            current = end;
            Sql.execute(end.connection, "SET CONSTRAINTS ALL IMMEDIATE"); // so that no commit fails
        }
        Optional<String> difference = difference(number);
        if (difference.isPresent()) {
            return difference;
        }
        for (End end : order) {
            current = end;
            end.run.commit(current());
            if (order.size() > 1 && end == order.get(0)) {
                isHalfDone = true;
                follower.halfDone();
            }
        }
        isHalfDone = false;
        hasNewTables |= order.stream().anyMatch(end -> end.hasNewTables);
        return Optional.empty();
    }

    /**
     * Leaves checks of a table that a changeset has filled unvalidated on the copy, which has no rows yet but must match the shard. Rows that
     * are not valid would not be accepted there.
     */
    private void leaveUnvalidated(int number) throws SQLException {
        Set<String> valid = new TreeSet<>(Sql.list(
                copy.connection,
                CHECKS.formatted("k.convalidated"),
                row -> row.getString(1) + " " + row.getString(2),
                Sharding.schema(number)));
        StringBuilder trial = new StringBuilder();
        StringBuilder changes = new StringBuilder();
        Sql.list(
                shard.connection,
                CHECKS.formatted("NOT k.convalidated"),
                row -> {
                    String table = row.getString(1);
                    String name = row.getString(2);
                    boolean isNew = !copy.before.tables.containsKey(row.getString(4));
                    if (isNew) {
                        trial.append("ALTER TABLE %s VALIDATE CONSTRAINT %s;\n".formatted(table, name));
                    }
                    if (isNew && valid.contains(table + " " + name)) {
                        changes.append("ALTER TABLE %1$s DROP CONSTRAINT %2$s, ADD CONSTRAINT %2$s %3$s;\n"
                                .formatted(table, name, row.getString(3)));
                    }
                    return isNew;
                },
                Sharding.schema(number));
        if (!trial.isEmpty()) {
            current = shard;
            Sql.execute(
                    shard.connection,
                    "SAVEPOINT shardflake_trial;\n" + trial + "ROLLBACK TO SAVEPOINT shardflake_trial");
        }
        if (!changes.isEmpty()) {
            current = copy;
            Sql.execute(copy.connection, changes.toString());
        }
    }

    private static String laterOnly(String what) {
        return what + ", which cannot be done while the shard moves. Deploy it when the move is done";
    }

    private Optional<String> difference(int number) throws SQLException {
        TableState here = TableState.of(shard.connection, number);
        TableState there = TableState.of(copy.connection, number);
        Set<String> columns = new TreeSet<>(here.unlike(shard.before, there));
        columns.addAll(there.unlike(copy.before, here));
        if (!columns.isEmpty()) {
            return Optional.of(laterOnly("%s and %s would fill column %s with different values"
                    .formatted(shard.name, copy.name, columns.iterator().next())));
        }
        List<String> differences = new ShardSchemaCopy(shard.connection, copy.connection)
                .differences(ShardSet.of(number))
                .getOrDefault(number, List.of());
        return differences.isEmpty()
                ? Optional.empty()
                : Optional.of("its schema and that of its copy would differ: on %s, %s"
                        .formatted(
                                copy.name, String.join("; ", differences.subList(0, Math.min(3, differences.size())))));
    }

    @Override
    public void close() {
        Sql.close(copy.connection);
        Sql.close(shard.connection);
    }

    /**
     * The tables of a shard before or after some changesets. Their text was looked at before; this shows what they did.
     *
     * @param tables the file and the replica identity of each table
     * @param replicated those whose rows can be replicated
     * @param fills the values that new columns have in the rows from before
     */
    private record TableState(Map<String, String> tables, Set<String> replicated, Map<String, String> fills) {

        private static final String TABLES = """
                SELECT c.relname, COALESCE(pg_catalog.pg_relation_filenode(c.oid)::text, '-'),
                       pg_catalog.concat_ws(' ', c.relreplident, (SELECT i.indkey::text FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND CASE c.relreplident WHEN 'i' THEN i.indisreplident ELSE i.indisprimary END)),
                       c.relkind <> 'm' AND c.relpersistence = 'p'
                  FROM pg_catalog.pg_class c WHERE c.relnamespace = pg_catalog.to_regnamespace(?) AND c.relkind IN ('r', 'p', 'm')
                """;

        private static final String FILLS = """
                SELECT c.relname || '.' || a.attname, a.attmissingval::text
                  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
                 WHERE c.relnamespace = pg_catalog.to_regnamespace(?) AND a.atthasmissing AND NOT a.attisdropped
                """;

        static TableState of(Connection connection, int shard) throws SQLException {
            Map<String, String> tables = new TreeMap<>();
            Set<String> replicated = new TreeSet<>();
            Map<String, String> fills = new TreeMap<>();
            Sql.list(
                    connection,
                    TABLES,
                    row -> {
                        tables.put(row.getString(1), row.getString(2) + " " + row.getString(3));
                        return row.getBoolean(4) && replicated.add(row.getString(1));
                    },
                    Sharding.schema(shard));
            Sql.list(connection, FILLS, row -> fills.put(row.getString(1), row.getString(2)), Sharding.schema(shard));
            return new TableState(tables, replicated, fills);
        }

        /** The reason not to commit the changes made since a state, if any. */
        Optional<String> trouble(TableState before, boolean learnsTables) {
            for (Map.Entry<String, String> table : tables.entrySet()) {
                String its = before.tables.get(table.getKey());
                if (its == null) {
                    if (!replicated.contains(table.getKey())) {
                        return Optional.of("it creates %s, whose rows are not replicated".formatted(table.getKey()));
                    }
                    if (!learnsTables) {
                        return Optional.of("it creates table %s, and an earlier version of shardflake began the move"
                                .formatted(table.getKey()));
                    }
                } else if (!its.equals(table.getValue())) {
                    return Optional.of("it rewrites table %s, or changes the key by which its rows are replicated"
                            .formatted(table.getKey()));
                }
            }
            return Optional.empty();
        }

        boolean hasMoreThan(TableState before) {
            return !before.tables.keySet().containsAll(tables.keySet());
        }

        /** The columns added since an earlier state that are filled with different values in older rows on the two servers. */
        Set<String> unlike(TableState before, TableState there) {
            Set<String> added = new TreeSet<>(fills.keySet());
            added.removeAll(before.fills.keySet());
            added.removeIf(column -> Objects.equals(fills.get(column), there.fills.get(column)));
            return added;
        }
    }
}
