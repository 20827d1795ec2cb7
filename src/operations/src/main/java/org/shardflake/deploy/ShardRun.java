/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.deploy.ShardPlan.Step;
import org.shardflake.jdbc.Sql;

/**
 * Deploys to one shard at a time, or to several that it creates together, over one connection. For one thread.
 *
 * <p>Statements that can share a transaction do, and are sent in one message. If one fails, the shard is retried statement by
 * statement to find out which.
 */
final class ShardRun {

    /** The setting that tells changesets that the shard is new; it is also set for a move's target, whose rows come later. */
    static final String CREATING = "SET LOCAL shardflake.creating = on";

    /** The SQLSTATEs of conflicts with other sessions: lock timeout and deadlock. */
    private static final Set<String> IN_THE_WAY = Set.of("55P03", "40P01");

    /**
     * The SQLSTATEs of statements that work once earlier changesets are committed, as Liquibase does: use of an enum's new value, a change of a
     * table with pending deferred checks.
     */
    private static final Set<String> NEEDS_COMMIT = Set.of("55P04", "55006");

    /**
     * Lets the server find a deadlock when the deployment completes it, and so end the deployment's attempt. Otherwise the application's transaction,
     * which began to wait earlier, would find it first and be ended. A deadlock that the application completes is ended by the lock timeout.
     */
    private static final String GIVES_WAY =
            "SELECT pg_catalog.set_config('deadlock_timeout', '10ms', true) WHERE pg_catalog.has_parameter_privilege('deadlock_timeout', 'SET')";

    private static final String KEYLESS = """
            SELECT c.relname FROM pg_catalog.pg_class c
             WHERE c.relnamespace = pg_catalog.to_regnamespace(?) AND c.relkind IN ('r', 'p')
               AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'p')
             ORDER BY c.oid
            """;

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
    private final ReadWriteLock turns;
    private final boolean isFirst;
    private final Optional<Side> side;
    private boolean expressionsChecked;
    private boolean leftSomething;

    /**
     * @param turns what a shard holds while it works, alone once another shard was in its way
     * @param isFirst whether this is the shard that is deployed before all others, and looked at more closely
     * @param side which one this is, if a shard and its copy are changed together
     */
    ShardRun(
            Connection connection,
            String server,
            DeploySettings settings,
            Preconditions preconditions,
            String deployment,
            int firstOrder,
            ReadWriteLock turns,
            boolean isFirst,
            Optional<Side> side) {
        this.connection = connection;
        this.server = server;
        this.settings = settings;
        this.preconditions = preconditions;
        this.deployment = deployment;
        this.firstOrder = firstOrder;
        this.turns = turns;
        this.isFirst = isFirst;
        this.side = side;
    }

    /**
     * One of the two servers on which a moving shard is changed.
     *
     * @param claim the first statement of each transaction
     * @param isCopy whether the rows come from the shard, so that none are written here
     */
    record Side(String claim, boolean isCopy) {}

    /** Whether a shard's SQL may have changed the session; the next shard then gets another connection. */
    boolean leftSomething() {
        return leftSomething;
    }

    /**
     * Creates shards in one transaction.
     *
     * @return whether they were created; if not, they are unchanged, and creating them one by one shows why
     */
    boolean createTogether(List<ShardPlan> plans) throws SQLException, InterruptedException {
        for (int tried = 1; ; tried++) {
            Statements statements = new Statements(plans.get(0).shard(), false);
            Lock turn = tried == 1 ? turns.readLock() : turns.writeLock();
            turn.lockInterruptibly();
            try {
                connection.setAutoCommit(false);
                for (ShardPlan plan : plans) { // before any table, see CreationBatches
                    create(statements, plan.shard());
                }
                for (ShardPlan plan : plans) {
                    run(statements, plan.shard(), plan.steps(), Part.ALL);
                }
                statements.flush();
                connection.commit();
                expressionsChecked = true;
                return true;
            } catch (SQLException e) {
                rollBackAfter(e);
                if (!isInTheWay(e) || tried >= settings.tries()) {
                    return false;
                }
            } finally {
                turn.unlock();
            }
            pause(tried);
        }
    }

    static boolean isInTheWay(SQLException e) {
        return IN_THE_WAY.contains(String.valueOf(e.getSQLState()));
    }

    /** Deploys the pending changesets of a shard; a failure leaves it unchanged, except for statements that cannot be part of a transaction. */
    Optional<ShardFailure> deploy(ShardPlan plan) throws SQLException, InterruptedException {
        List<Step> steps = plan.steps();
        Set<Integer> commits = new TreeSet<>();
        for (int i = 0; i < steps.size(); i++) {
            if (!steps.get(i).changeSet().inTransaction()) {
                commits.addAll(List.of(i, i + 1));
            } else if (!plan.create() && steps.get(i).changeSet().sql().stream().anyMatch(SqlEffects::addsValue)) {
                commits.add(i + 1);
            }
        }
        commits.add(steps.size());
        boolean create = plan.create();
        int from = 0;
        do {
            int begin = from;
            boolean isAlone =
                    begin < steps.size() && !steps.get(begin).changeSet().inTransaction();
            if (isAlone && create) {
                Optional<ShardFailure> failure = inTransaction(plan.shard(), true, List.of(), Part.FIRST);
                if (failure.isPresent()) {
                    return failure;
                }
            }
            int end = commits.stream().filter(at -> at > begin).findFirst().orElse(steps.size());
            Optional<ShardFailure> failure = isAlone
                    ? alone(plan.shard(), steps.get(begin), end == steps.size())
                    : inTransaction(
                            plan.shard(), create, steps.subList(begin, end), Part.of(begin == 0, end == steps.size()));
            if (failure.isPresent()) {
                int at = indexOf(steps, failure.get().changeSet());
                if (!NEEDS_COMMIT.contains(failure.get().sqlState()) || at <= begin || !commits.add(at)) {
                    return failure;
                }
            } else {
                create = false;
                from = end;
            }
        } while (from < steps.size());
        return Optional.empty();
    }

    private static int indexOf(List<Step> steps, String changeSet) {
        for (int i = 0; i < steps.size(); i++) {
            if (steps.get(i).changeSet().key().equals(changeSet)) {
                return i;
            }
        }
        return -1;
    }

    private Optional<ShardFailure> inTransaction(int shard, boolean create, List<Step> steps, Part part)
            throws SQLException, InterruptedException {
        return inTransaction(shard, statements -> {
            if (create) {
                create(statements, shard);
            }
            run(statements, shard, steps, part);
        });
    }

    /** The position of a transaction among a shard's transactions, of which there is nearly always one. */
    private enum Part {
        ALL,
        FIRST,
        MIDDLE,
        LAST;

        static Part of(boolean begins, boolean ends) {
            return begins ? (ends ? ALL : FIRST) : ends ? LAST : MIDDLE;
        }

        boolean begins() {
            return this == ALL || this == FIRST;
        }

        boolean ends() {
            return this == ALL || this == LAST;
        }
    }

    /** Undoes changesets on a shard. */
    Optional<ShardFailure> undo(RollBack.Plan plan) throws SQLException, InterruptedException {
        int shard = plan.shard();
        return inTransaction(shard, statements -> {
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

    private Optional<ShardFailure> inTransaction(int shard, Body body) throws SQLException, InterruptedException {
        boolean stepwise = false;
        boolean alone = false;
        for (int tried = 1; ; tried++) {
            boolean isBusy = false;
            Statements statements = new Statements(shard, stepwise);
            Lock turn = alone ? turns.writeLock() : turns.readLock();
            turn.lockInterruptibly();
            try {
                if (stepwise && isFirst) { // or what was written before counts as written by the first changeset
                    Sql.execute(connection, "SELECT pg_catalog.pg_stat_force_next_flush()");
                }
                connection.setAutoCommit(false);
                body.addTo(statements);
                statements.flush();
                connection.commit();
                expressionsChecked |= statements.checksExpressions;
                return Optional.empty();
            } catch (SQLException e) {
                rollBackAfter(e);
                isBusy = isInTheWay(e) && tried < settings.tries();
                if (!isBusy && stepwise) {
                    return Optional.of(statements.failure(e));
                }
                stepwise |= !isBusy;
                alone |= isBusy;
            } catch (DeployRefusedException e) {
                rollBackAfter(e);
                throw e;
            } catch (DeployException e) {
                rollBackAfter(e);
                return Optional.of(statements.failure(e));
            } finally {
                turn.unlock();
            }
            if (isBusy) {
                pause(tried);
            }
        }
    }

    private void begin(Statements statements) throws SQLException {
        if (side.isPresent()) {
            statements.add(side.get().claim());
        }
        statements.add(
                "SET LOCAL lock_timeout = %s".formatted(settings.lockTimeout().toMillis()));
        statements.add(GIVES_WAY);
        statements.add("SET LOCAL statement_timeout = %s"
                .formatted(settings.statementTimeout().toMillis()));
        if (side.isEmpty()) {
            // If the server crashes now, history and tables are lost together, so a rerun does what is missing.
            statements.add("SET LOCAL synchronous_commit = off");
        }
    }

    private static void create(Statements statements, int shard) throws SQLException {
        statements.add(CREATING);
        statements.add("SELECT shardflake.create_shard(%s)".formatted(shard));
        statements.add(ShardSchemaCopy.forgetSql(shard)); // of a schema that was not dropped by drop_shard
    }

    private boolean isCopy() {
        return side.isPresent() && side.get().isCopy();
    }

    /** The statements of an attempt at a shard, empty at first. */
    Statements statements(int shard, boolean stepwise) {
        return new Statements(shard, stepwise);
    }

    /** Runs steps in a transaction that is left open. */
    void open(Statements statements, int shard, List<Step> steps) throws SQLException {
        connection.setAutoCommit(false);
        run(statements, shard, steps, Part.ALL);
        statements.flush();
    }

    /** Commits the transaction that was {@link #open opened}. */
    void commit(Statements statements) throws SQLException {
        connection.commit();
        connection.setAutoCommit(true);
        expressionsChecked |= statements.checksExpressions;
    }

    private void run(Statements statements, int shard, List<Step> steps, Part part) throws SQLException {
        String schema = Sharding.schema(shard);
        begin(statements);
        statements.findKeyless("");
        if (!settings.checks().wanted()) {
            statements.add("SET LOCAL shardflake.checks = off"); // Changesets ask for it too, by add_id_sequence.
        }
        if (part.begins() && preconditions.hasOwn() && side.isEmpty()) {
            preconditions.checkOwn(statements, shard);
        }
        String what = steps.stream().map(Step::changeSet).anyMatch(ShardChangeSet::addsChecks) ? "ids" : "all";
        boolean isComplete = part.begins(); // What was deployed before is.
        for (Step step : steps) {
            ShardChangeSet changeSet = step.changeSet();
            statements.begin(changeSet);
            String how = step.again() ? "RERAN" : "EXECUTED";
            switch (preconditions.check(statements, shard, changeSet)) {
                case RUN -> {
                    if (!isComplete) {
                        Optional<String> completion = changeSet.completion(what);
                        if (completion.isPresent()) {
                            statements.add(ShardChangeSet.forShard(completion.get(), schema));
                        }
                    }
                    make(statements, schema, changeSet);
                    Set<String> local = changeSet.lasts()
                            ? ChangedSettings.of(changeSet.sql()).local()
                            : Set.of();
                    for (String sql : ChangedSettings.keep(local)) {
                        statements.add(sql);
                    }
                    statements.add(SearchPath.of(schema, changeSet.path()));
                    for (String sql : changeSet.sql()) {
                        if (!isCopy() || !FollowedSql.writesRows(sql)) {
                            statements.add(ShardChangeSet.forShard(sql, schema));
                            for (String table : isCopy() ? FollowedSql.filledTables(sql) : List.<String>of()) {
                                statements.add(ShardChangeSet.forShard("DELETE FROM " + table, schema));
                            }
                        }
                    }
                    statements.add(SearchPath.OURS);
                    for (String sql : ChangedSettings.restore(local, true)) {
                        statements.add(sql);
                    }
                    isComplete = false;
                }
                case MARK_RAN -> how = "MARK_RAN";
                case SKIP -> {
                    continue;
                }
            }
            statements.add(ShardHistory.recordSql(shard, changeSet, how, firstOrder + step.position(), deployment));
            statements.end();
        }
        if (!part.ends()) { // Tables may yet get their primary keys.
            statements.add("SET LOCAL shardflake.meanwhile = 'all'");
        }
        statements.add("SELECT shardflake.complete_tables(%s)".formatted(shard));
        if (isCopy()) {
            // New tables get an open fence where the shard had no table yet, and their sequences make ids.
            statements.add("SELECT shardflake.set_fence(f.target, true) FROM shardflake.fences(%s) f WHERE NOT f.fenced"
                    .formatted(shard));
            statements.add("SELECT shardflake.fence_ids(%s, true)".formatted(shard));
        }
        if (!expressionsChecked) {
            statements.checkExpressions(shard);
        }
        if (isFirst) {
            statements.lookOutside();
        }
    }

    /** Lets Liquibase generate SQL that depends on the results of earlier changesets. */
    private void make(Statements statements, String schema, ShardChangeSet changeSet) throws SQLException {
        Optional<LaterSql> later = changeSet.later();
        if (later.isEmpty()) {
            return;
        }
        if (!changeSet.isMade()) {
            statements.flush();
            boolean autoCommit = connection.getAutoCommit();
            try (Sql.Ending ending = () -> connection.setAutoCommit(autoCommit)) {
                later.get().makeOnce(connection, schema);
            } catch (DeployException e) { // of the changelog, and so of all shards
                throw new DeployRefusedException(
                        "changeset %s: %s".formatted(changeSet.key(), String.valueOf(e.getMessage())));
            }
        }
        statements.add(DeployedSql.recordSql(changeSet));
    }

    /**
     * Deploys a changeset that cannot run in a transaction, such as CREATE INDEX CONCURRENTLY.
     *
     * @param isLast whether the shard gets nothing else afterwards
     */
    private Optional<ShardFailure> alone(int shard, Step step, boolean isLast)
            throws SQLException, InterruptedException {
        Optional<ShardFailure> failure = alone(shard, step);
        return failure.isPresent() || step.changeSet().leavesTables()
                ? failure
                : inTransaction(shard, false, List.of(), isLast ? Part.LAST : Part.MIDDLE);
    }

    Optional<ShardFailure> alone(int shard, Step step) throws InterruptedException {
        String schema = Sharding.schema(shard);
        ShardChangeSet changeSet = step.changeSet();
        Statements statements = new Statements(shard, true);
        statements.begin(changeSet);
        try {
            connection.setAutoCommit(true);
            if (side.isPresent()) {
                statements.add(side.get().claim());
            }
            if (!settings.checks().wanted()) {
                statements.add("SET shardflake.checks = off");
            }
            statements.add("SET statement_timeout = %s"
                    .formatted(settings.statementTimeout().toMillis()));
            String how = step.again() ? "RERAN" : "EXECUTED";
            switch (preconditions.check(statements, shard, changeSet)) {
                case RUN -> {
                    make(statements, schema, changeSet);
                    statements.add("SET search_path = %s, public".formatted(schema));
                    for (String sql : changeSet.sql()) {
                        alone(statements, schema, sql);
                    }
                    statements.add("SET search_path = pg_catalog, pg_temp");
                }
                case MARK_RAN -> how = "MARK_RAN";
                case SKIP -> {
                    return Optional.empty();
                }
            }
            statements.add(ShardHistory.recordSql(shard, changeSet, how, firstOrder + step.position(), deployment));
            return Optional.empty();
        } catch (SQLException | DeployException e) {
            return Optional.of(statements.failure(e));
        } finally {
            reset();
        }
    }

    /** Builds an index concurrently, one at a time, since two such builds can wait for each other. */
    private void alone(Statements statements, String schema, String sql) throws SQLException, InterruptedException {
        for (int tried = 1; ; tried++) {
            Lock turn = tried == 1 ? turns.readLock() : turns.writeLock();
            turn.lockInterruptibly();
            try {
                if (!isBuiltAlready(statements, schema, sql)) {
                    statements.add(ShardChangeSet.forShard(sql, schema));
                }
                return;
            } catch (SQLException e) {
                if (!isInTheWay(e) || tried >= settings.tries()) {
                    throw e;
                }
            } finally {
                turn.unlock();
            }
            pause(tried);
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

    /** Rolls back after a failure, and throws the failure itself if it ended the session. */
    <X extends Exception> void rollBackAfter(X failure) throws X {
        try {
            connection.rollback();
            connection.setAutoCommit(true);
        } catch (SQLException e) {
            failure.addSuppressed(e);
            throw failure;
        }
    }

    static void pause(int tried) throws InterruptedException {
        long longest = Math.min(100L << Math.min(tried, 10), LONGEST_PAUSE_MILLIS);
        Thread.sleep(ThreadLocalRandom.current().nextLong(longest / 2, longest));
    }

    /** The statements of one attempt, gathered into one message or run one by one. */
    final class Statements implements Preconditions.Session {

        private static final String SAVEPOINT = "shardflake_question";

        private final int shard;
        private final boolean stepwise;
        private final StringBuilder gathered = new StringBuilder();
        private String changeSet = "";
        private String running = "";
        private boolean checksExpressions;

        /** Tables without a primary key, each with the changeset that made it, or "" if it was there before. */
        private final Map<String, String> keyless = new LinkedHashMap<>();

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
                if (SqlEffects.endsMessage(sql)) {
                    flush();
                }
            }
        }

        /** Checks expressions of the first shard only, since they are the same for all. */
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

        /** Checks the effects of a changeset, if the statements run one by one. */
        void end() throws SQLException {
            findKeyless(changeSet);
            if (isFirst && stepwise) {
                OutsideShard.find(connection, Sharding.schema(shard), settings.allowPublic())
                        .ifPresent(outside -> {
                            throw new DeployRefusedException(
                                    "changeset %s %s. No shard was changed".formatted(changeSet, outside.what()),
                                    outside.advice());
                        });
            }
        }

        private void findKeyless(String madeBy) throws SQLException {
            if (stepwise) {
                List<String> tables = Sql.list(connection, KEYLESS, row -> row.getString(1), Sharding.schema(shard));
                keyless.keySet().retainAll(tables);
                tables.forEach(table -> keyless.putIfAbsent(table, madeBy));
            }
        }

        void lookOutside() throws SQLException {
            if (stepwise) {
                end();
            } else {
                flush();
                Optional<StrayUse> outside =
                        OutsideShard.find(connection, Sharding.schema(shard), settings.allowPublic());
                if (outside.isPresent()) { // Found again, and named, when its statements run one by one.
                    throw new SQLException(outside.get().what());
                }
            }
        }

        @Override
        public <T> T ask(Preconditions.Question<T> question) throws SQLException {
            flush();
            return question.ask(connection);
        }

        @Override
        public <T> T tryOut(Preconditions.Question<T> question) throws SQLException {
            if (connection.getAutoCommit()) {
                try (Sql.Ending ending = Sql.rollingBack(connection)) {
                    return question.ask(connection);
                }
            }
            gathered.append("SAVEPOINT ").append(SAVEPOINT);
            flush();
            T answer = question.ask(connection);
            gathered.append("ROLLBACK TO SAVEPOINT %1$s; RELEASE SAVEPOINT %1$s;\n".formatted(SAVEPOINT));
            if (stepwise) {
                flush();
            }
            return answer;
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

        ShardFailure failure(Exception e) {
            ShardFailure failure = failureOf(e);
            if (!failure.sqlState().equals("42P16") || keyless.isEmpty() || !running.contains("complete_tables")) {
                return failure;
            }
            String tables = keyless.size() == 1
                    ? "table %s has no primary key"
                            .formatted(keyless.keySet().iterator().next())
                    : "%s tables have no primary key".formatted(keyless.size())
                            + keyless.entrySet().stream()
                                    .map(table -> table.getValue().isEmpty()
                                            ? "\n- table %s, which was there before".formatted(table.getKey())
                                            : "\n- table %s, of changeset %s"
                                                    .formatted(table.getKey(), table.getValue()))
                                    .collect(Collectors.joining());
            return new ShardFailure(
                    shard,
                    server,
                    keyless.values().stream()
                            .filter(made -> !made.isEmpty())
                            .findFirst()
                            .orElse(changeSet),
                    running,
                    tables
                            + "\nHint: give each a primary key: without it the rows of a shard can be neither replicated to another server nor compared",
                    failure.sqlState(),
                    0);
        }

        /** A failure of this shard for a reason of Shardflake's own. */
        ShardFailure failure(String why) {
            return new ShardFailure(shard, server, changeSet, "", why, "", 0);
        }

        private ShardFailure failureOf(Exception e) {
            String state = e instanceof SQLException sql && sql.getSQLState() != null ? sql.getSQLState() : "";
            ServerErrorMessage said = e instanceof PSQLException its ? its.getServerErrorMessage() : null;
            int position = said == null ? 0 : said.getPosition();
            return new ShardFailure(shard, server, changeSet, running, String.valueOf(e.getMessage()), state, position);
        }
    }
}
