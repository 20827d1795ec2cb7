/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.deploy.ShardPlan.Step;

/**
 * Deploys to one shard at a time, or to several that it creates together, over one connection. For one thread.
 *
 * <p>Statements that can share a transaction do, and are sent in one message. If one fails, the shard is retried statement by
 * statement to find out which.
 */
final class ShardRun {

    /** By this a changeset knows that the shard is new, also as the target of a move, where its rows come afterwards. */
    static final String CREATING = "SET LOCAL shardflake.creating = on";

    /** Conflicts with other sessions: lock timeout, deadlock. */
    private static final Set<String> IN_THE_WAY = Set.of("55P03", "40P01");

    private static final long LONGEST_PAUSE_MILLIS = 2000;
    private static final Pattern CONCURRENT_INDEX = Pattern.compile(
            "\\s*CREATE\\s+(?:UNIQUE\\s+)?INDEX\\s+CONCURRENTLY\\s+(?:IF\\s+NOT\\s+EXISTS\\s+)?\"?(?<name>[\\w$]+)\"?\\s+ON\\b.*",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    private final Connection connection;
    private final String server;
    private final DeploySettings settings;
    private final Preconditions preconditions;
    private final String deployment;
    private final int firstOrder;
    private boolean expressionsChecked;
    private boolean leftSomething;

    ShardRun(
            Connection connection,
            String server,
            DeploySettings settings,
            Preconditions preconditions,
            String deployment,
            int firstOrder) {
        this.connection = connection;
        this.server = server;
        this.settings = settings;
        this.preconditions = preconditions;
        this.deployment = deployment;
        this.firstOrder = firstOrder;
    }

    /** Whether a shard's SQL may have left settings or the like in the session; the next shard then uses another connection. */
    boolean leftSomething() {
        return leftSomething;
    }

    /**
     * Creates shards in one transaction.
     *
     * @return whether they were created; if not, they are unchanged, and creating them one by one shows why
     */
    boolean createTogether(List<ShardPlan> plans) throws SQLException {
        Statements statements = new Statements(plans.get(0).shard(), false);
        try {
            connection.setAutoCommit(false);
            for (ShardPlan plan : plans) { // before any table, see CreationBatches
                create(statements, plan.shard());
            }
            for (ShardPlan plan : plans) {
                run(statements, plan.shard(), plan.steps());
            }
            statements.flush();
            connection.commit();
            expressionsChecked = true;
            return true;
        } catch (SQLException e) {
            rollBackAfter(e);
            return false;
        }
    }

    /** Deploys what a shard needs; a failure leaves it unchanged, except for what could not be part of a transaction. */
    Optional<ShardFailure> deploy(ShardPlan plan) throws SQLException, InterruptedException {
        List<Step> together = new ArrayList<>();
        boolean create = plan.create();
        for (Step step : plan.steps()) {
            if (step.changeSet().inTransaction()) {
                together.add(step);
                continue;
            }
            Optional<ShardFailure> failure = inTransaction(plan.shard(), create, together);
            if (failure.isEmpty()) {
                failure = alone(plan.shard(), step);
            }
            if (failure.isPresent()) {
                return failure;
            }
            create = false;
            together.clear();
        }
        return inTransaction(plan.shard(), create, together);
    }

    private Optional<ShardFailure> inTransaction(int shard, boolean create, List<Step> steps)
            throws SQLException, InterruptedException {
        if (!create && steps.isEmpty()) {
            return Optional.empty();
        }
        boolean asksLiquibase = steps.stream().anyMatch(step -> step.changeSet().hasPreconditions());
        return inTransaction(shard, asksLiquibase, statements -> {
            if (create) {
                create(statements, shard);
            }
            run(statements, shard, steps);
        });
    }

    /** Undoes changesets on a shard. */
    Optional<ShardFailure> undo(RollBack.Plan plan) throws SQLException, InterruptedException {
        int shard = plan.shard();
        return inTransaction(shard, false, statements -> {
            begin(statements);
            for (RollBack.Undoing undoing : plan.steps()) {
                statements.begin(undoing.changeSet());
                statements.add(SearchPath.of(
                        Sharding.schema(shard), undoing.changeSet().path()));
                for (String sql : undoing.sql()) {
                    statements.add(ShardChangeSet.forShard(sql, Sharding.schema(shard)));
                }
                statements.add(SearchPath.OURS);
                statements.add(ShardHistory.forgetSql(shard, undoing.changeSet()));
            }
        });
    }

    @FunctionalInterface
    private interface Body {
        void addTo(Statements statements) throws SQLException;
    }

    private Optional<ShardFailure> inTransaction(int shard, boolean onlyStepwise, Body body)
            throws SQLException, InterruptedException {
        boolean stepwise = onlyStepwise;
        for (int tried = 1; ; tried++) {
            Statements statements = new Statements(shard, stepwise);
            try {
                connection.setAutoCommit(false);
                body.addTo(statements);
                statements.flush();
                connection.commit();
                expressionsChecked |= statements.checksExpressions;
                return Optional.empty();
            } catch (SQLException e) {
                rollBackAfter(e);
                if (IN_THE_WAY.contains(String.valueOf(e.getSQLState())) && tried < settings.tries()) {
                    pause(tried);
                } else if (!stepwise) {
                    stepwise = true;
                } else {
                    return Optional.of(statements.failure(e));
                }
            } catch (DeployException e) {
                rollBackAfter(e);
                return Optional.of(statements.failure(e));
            }
        }
    }

    private void begin(Statements statements) throws SQLException {
        statements.add(
                "SET LOCAL lock_timeout = %d".formatted(settings.lockTimeout().toMillis()));
        statements.add("SET LOCAL statement_timeout = %d"
                .formatted(settings.statementTimeout().toMillis()));
        // If the server crashes now, history and tables are lost together, so a rerun does what is missing.
        statements.add("SET LOCAL synchronous_commit = off");
    }

    private static void create(Statements statements, int shard) throws SQLException {
        statements.add(CREATING);
        statements.add("SELECT shardflake.create_shard(%d)".formatted(shard));
        statements.add(ShardSchemaCopy.forgetSql(shard)); // of a schema that was not dropped by drop_shard
    }

    private void run(Statements statements, int shard, List<Step> steps) throws SQLException {
        String schema = Sharding.schema(shard);
        begin(statements);
        if (!settings.checks().wanted()) {
            statements.add("SET LOCAL shardflake.checks = off"); // Changesets ask for it too, by add_id_sequence.
        }
        for (Step step : steps) {
            statements.begin(step.changeSet());
            statements.add(SearchPath.of(schema, step.changeSet().path()));
            String how = step.again() ? "RERAN" : "EXECUTED";
            switch (preconditions.check(connection, shard, step.changeSet())) {
                case RUN -> {
                    for (String sql : step.changeSet().sql()) {
                        statements.add(ShardChangeSet.forShard(sql, schema));
                    }
                }
                case MARK_RAN -> how = "MARK_RAN";
                case SKIP -> {
                    continue;
                }
            }
            statements.add(SearchPath.OURS);
            statements.add(
                    ShardHistory.recordSql(shard, step.changeSet(), how, firstOrder + step.position(), deployment));
        }
        statements.add(SearchPath.OURS);
        statements.add("SELECT shardflake.complete_tables(%d)".formatted(shard));
        if (!expressionsChecked) {
            statements.checkExpressions(shard);
        }
    }

    /** Deploys a changeset that cannot run in a transaction, such as CREATE INDEX CONCURRENTLY. */
    private Optional<ShardFailure> alone(int shard, Step step) {
        String schema = Sharding.schema(shard);
        Statements statements = new Statements(shard, true);
        statements.begin(step.changeSet());
        try {
            connection.setAutoCommit(true);
            statements.add("SET search_path = %s, public".formatted(schema));
            if (!settings.checks().wanted()) {
                statements.add("SET shardflake.checks = off");
            }
            statements.add("SET statement_timeout = %d"
                    .formatted(settings.statementTimeout().toMillis()));
            for (String sql : step.changeSet().sql()) {
                if (!isBuiltAlready(statements, schema, sql)) {
                    statements.add(ShardChangeSet.forShard(sql, schema));
                }
            }
            statements.add("SET search_path = pg_catalog, pg_temp");
            statements.add(ShardHistory.recordSql(
                    shard,
                    step.changeSet(),
                    step.again() ? "RERAN" : "EXECUTED",
                    firstOrder + step.position(),
                    deployment));
            return Optional.empty();
        } catch (SQLException e) {
            return Optional.of(statements.failure(e));
        } finally {
            reset();
        }
    }

    /**
     * Whether an interrupted deployment completed a valid index; if not, drops the invalid index that a failed CREATE INDEX
     * CONCURRENTLY leaves behind.
     */
    private boolean isBuiltAlready(Statements statements, String schema, String sql) throws SQLException {
        Matcher index = CONCURRENT_INDEX.matcher(sql);
        if (!index.matches()) {
            return false;
        }
        String name = sql.contains("\"" + index.group("name") + "\"")
                ? index.group("name")
                : index.group("name").toLowerCase(Locale.ROOT);
        try (Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery(
                        "SELECT i.indisvalid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_index i ON i.indexrelid OPERATOR(pg_catalog.=) c.oid WHERE c.relnamespace OPERATOR(pg_catalog.=) '%s'::pg_catalog.regnamespace AND c.relname OPERATOR(pg_catalog.=) '%s'"
                                .formatted(schema, name))) {
            if (!found.next()) {
                return false;
            }
            if (found.getBoolean(1)) {
                return true;
            }
        }
        statements.add("DROP INDEX CONCURRENTLY %s.\"%s\"".formatted(schema, name));
        return false;
    }

    private void reset() {
        try (Statement statement = connection.createStatement()) {
            statement.execute(
                    "SET search_path = pg_catalog, pg_temp; SET statement_timeout = 0; RESET shardflake.checks");
        } catch (SQLException e) {
            // The connection is gone; its next user reports that.
        }
    }

    /** Throws the failure itself if nothing can be rolled back because it ended the session. */
    private <X extends Exception> void rollBackAfter(X failure) throws X {
        try {
            connection.rollback();
            connection.setAutoCommit(true);
        } catch (SQLException e) {
            failure.addSuppressed(e);
            throw failure;
        }
    }

    private static void pause(int tried) throws InterruptedException {
        long longest = Math.min(100L << Math.min(tried, 10), LONGEST_PAUSE_MILLIS);
        Thread.sleep(ThreadLocalRandom.current().nextLong(longest / 2, longest));
    }

    /** The statements of one attempt, gathered into one message or run one by one. */
    final class Statements {

        private final int shard;
        private final boolean stepwise;
        private final StringBuilder gathered = new StringBuilder();
        private String changeSet = "";
        private String running = "";
        private boolean checksExpressions;

        private Statements(int shard, boolean stepwise) {
            this.shard = shard;
            this.stepwise = stepwise;
        }

        void begin(ShardChangeSet next) {
            leftSomething |= next.lasts();
            changeSet = next.key();
            running = "";
        }

        void add(String sql) throws SQLException {
            if (stepwise) {
                running = sql;
                execute(sql);
            } else {
                gathered.append(sql).append("\n;\n"); // the last line may be a comment
            }
        }

        /** Taken from the first shard only, since it is the same for all. */
        void checkExpressions(int itsShard) throws SQLException {
            checksExpressions = true;
            if (!stepwise) {
                add(EmptySearchPath.checkSql(ShardSet.of(itsShard)));
                return;
            }
            running = "";
            Optional<String> found = EmptySearchPath.check(connection, ShardSet.of(itsShard));
            if (found.isPresent()) {
                throw new DeployException(found.get());
            }
        }

        void flush() throws SQLException {
            if (!gathered.isEmpty()) {
                execute(gathered.toString());
                gathered.setLength(0);
            }
        }

        private void execute(String sql) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                statement.setEscapeProcessing(false);
                statement.execute(sql);
            }
        }

        private ShardFailure failure(Exception e) {
            String state = e instanceof SQLException sql && sql.getSQLState() != null ? sql.getSQLState() : "";
            ServerErrorMessage said = e instanceof PSQLException its ? its.getServerErrorMessage() : null;
            int position = said == null ? 0 : said.getPosition();
            return new ShardFailure(shard, server, changeSet, running, String.valueOf(e.getMessage()), state, position);
        }
    }
}
