/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntConsumer;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;
import org.shardflake.sql.FunctionLibrary;

/**
 * Adds to existing tables the checks that new ones get: they refuse rows whose id or uid is of another shard. Each step is durable,
 * so it can be interrupted at any moment and run again.
 *
 * <p>Closing it releases the servers' deploy locks. Not thread-safe.
 */
public final class SchemaChecks implements AutoCloseable {

    private static final Duration LOCK_PATIENCE = Duration.ofSeconds(5);

    /** The SQLSTATEs of conflicts with other sessions: lock timeout and deadlock. */
    private static final Set<String> IN_THE_WAY = Set.of("55P03", "40P01");

    private static final String CHECK_VIOLATION = "23514";

    private static final int TRIES = 10;

    private final Map<DeployTarget, Connection> servers = new LinkedHashMap<>();

    private SchemaChecks() {}

    /**
     * The result on one server.
     *
     * @param present checks that existed and hold
     * @param added checks that were added, or validated
     * @param busy tables that others kept locked
     */
    public record ServerReport(
            String server, int shards, int present, int added, List<StrayRows> strays, List<String> busy) {}

    /**
     * Connects to the servers, and blocks deployments and moves on them.
     *
     * @throws DeployRefusedException if another deployment is at work, or a function library is older than the checks
     */
    public static SchemaChecks prepare(List<DeployTarget> targets) {
        return Sql.translating(() -> connect(targets));
    }

    private static SchemaChecks connect(List<DeployTarget> targets) throws SQLException {
        SchemaChecks checks = new SchemaChecks();
        try {
            for (DeployTarget target : targets) {
                Connection connection = target.connect();
                checks.servers.put(target, connection);
                SchemaLock.take(connection, target.server(), LOCK_PATIENCE);
                if (!FunctionLibrary.isCurrent(connection)) {
                    throw new DeployRefusedException(
                            "the function library of %s is of another version".formatted(target.server()),
                            Advice.of("bring it up to date with %s", CliCommand.UPGRADE));
                }
            }
            return checks;
        } catch (SQLException | RuntimeException e) {
            checks.close();
            throw e;
        }
    }

    /** Records the column that holds the uid. */
    public void record(RowChecks checks) {
        Sql.translating(() -> checks.record(servers.values()));
    }

    /**
     * Adds missing checks to tables that have no rows of other shards.
     *
     * @param lockTimeout how long a statement waits for a lock before it is retried
     * @param dryRun look for such rows, but change nothing
     * @param done receives the number of shards done since its last call
     */
    public List<ServerReport> run(Duration lockTimeout, boolean dryRun, IntConsumer done) throws InterruptedException {
        return Sql.translating(() -> examine(lockTimeout, dryRun, done));
    }

    private List<ServerReport> examine(Duration lockTimeout, boolean dryRun, IntConsumer done)
            throws SQLException, InterruptedException {
        List<ServerReport> reports = new ArrayList<>();
        for (Map.Entry<DeployTarget, Connection> server : servers.entrySet()) {
            Connection connection = server.getValue();
            Sql.execute(connection, "SET lock_timeout = " + lockTimeout.toMillis());
            Run run = new Run(connection, server.getKey().server(), dryRun);
            ShardSet shards = server.getKey().shards();
            for (int shard : shards.stream().toArray()) {
                for (RowCheck check : RowCheck.of(connection, shard)) {
                    run.examine(check);
                }
                done.accept(1);
            }
            reports.add(new ServerReport(run.server, shards.size(), run.present, run.added, run.strays, run.busy));
        }
        return reports;
    }

    /** Searches tables without a valid check for rows of other shards; reads these tables. */
    public static List<StrayRows> strays(Connection connection, String server, ShardSet shards) throws SQLException {
        List<StrayRows> strays = new ArrayList<>();
        for (int shard : shards.stream().toArray()) {
            for (RowCheck check : RowCheck.of(connection, shard)) {
                if (!check.validated()) {
                    strays.addAll(check.strays(connection, server));
                }
            }
        }
        return strays;
    }

    private static final class Run {

        private final Connection connection;
        private final String server;
        private final boolean dryRun;
        private final List<StrayRows> strays = new ArrayList<>();
        private final List<String> busy = new ArrayList<>();
        private int present;
        private int added;

        Run(Connection connection, String server, boolean dryRun) {
            this.connection = connection;
            this.server = server;
            this.dryRun = dryRun;
        }

        /**
         * Searches a table for rows of other shards before adding its check: under an unvalidated check, such rows could not even be updated.
         */
        void examine(RowCheck check) throws SQLException, InterruptedException {
            if (check.validated()) {
                present++;
                return;
            }
            List<StrayRows> found = check.strays(connection, server);
            strays.addAll(found);
            if (!found.isEmpty()) {
                return;
            }
            if (dryRun || add(check)) {
                added++;
            }
        }

        private boolean add(RowCheck check) throws SQLException, InterruptedException {
            try {
                boolean done = (check.present()
                                || change("ALTER TABLE %s ADD CONSTRAINT %s CHECK (%s) NOT VALID"
                                        .formatted(check.table(), check.name(), check.condition())))
                        && change("ALTER TABLE %s VALIDATE CONSTRAINT %s".formatted(check.table(), check.name()));
                if (!done) {
                    busy.add(check.table());
                }
                return done;
            } catch (SQLException e) {
                if (!CHECK_VIOLATION.equals(e.getSQLState())) {
                    throw e;
                }
                strays.addAll(check.strays(connection, server)); // written between the look and the check
                return false;
            }
        }

        private boolean change(String sql) throws SQLException, InterruptedException {
            for (int tried = 1; tried <= TRIES; tried++) {
                try {
                    Sql.execute(connection, sql);
                    return true;
                } catch (SQLException e) {
                    if (!IN_THE_WAY.contains(String.valueOf(e.getSQLState()))) {
                        throw e;
                    }
                    Thread.sleep(50L * tried); // lets sessions queued behind it pass
                }
            }
            return false;
        }
    }

    @Override
    public void close() {
        servers.values().forEach(Sql::close);
    }
}
