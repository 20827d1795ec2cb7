/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.router.Lookup;
import org.shardflake.router.LookupEntry;
import org.shardflake.router.RetryPolicy;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;
import org.shardflake.server.ServerUrl;

/**
 * Random histories of one lookup: some sessions with transactions that stay open, and an operator who drops the lookup, makes it again,
 * moves shards and ends sessions. A seed decides who does what next; what has to wait is left waiting while others go on.
 *
 * <p>In the end no two rows may have one value, and each row has to be found by its own. A world has a table and a lookup of its own, so
 * several can work side by side. Not thread-safe.
 */
final class LookupWorld implements AutoCloseable {

    /** What histories are made of. */
    enum Kind {
        /** Transactions stay open while the lookup is dropped and made again; routers hear of it. */
        REMADE(20, false, false),
        /** As {@link #REMADE}, but some routers don't hear of it. */
        UNHEARD(20, true, false),
        /** Releases, savepoints and claims of what is held. */
        CLAIMED(0, false, false),
        /** One value, and work that is mostly taken back to savepoints. */
        UNDONE(0, false, false),
        /** Rows are locked first, as the guide has it; both sides have to agree in the end. */
        LOCKED(0, false, true),
        /** All of it, with sessions that end and statements that are cancelled. */
        MIXED(12, true, false);

        private final int remaking;
        private final boolean hasDeafRouters;
        private final boolean locksRows;

        Kind(int remaking, boolean hasDeafRouters, boolean locksRows) {
            this.remaking = remaking;
            this.hasDeafRouters = hasDeafRouters;
            this.locksRows = locksRows;
        }
    }

    /**
     * How often a session of {@link Kind#UNDONE} does each thing next, by what it did last. Without such habits a release that is undone,
     * another's release and a third's claim follow each other in one history of thousands.
     */
    private static final int[][] HABITS = {
        {0, 1, 0, 0, 1, 6}, // has claimed
        {1, 0, 0, 0, 5, 3}, // has released
        {}, // never changes
        {}, // never writes but in the end
        {5, 1, 0, 0, 0, 1}, // has rolled back
    };

    private static final int[] HOLDER_BEGINS = {1, 6, 0, 0, 0, 0};
    private static final int[] OTHER_BEGINS = {6, 1, 0, 0, 0, 0};

    private static final int SESSIONS = 3;
    private static final int TURNS = 30;
    /** A step that takes longer than the fastest of its kind so many times waits for another. */
    private static final int WAITS_TIMES = 3;
    /** The first step loads classes and opens connections, and took five times as long as the third. */
    private static final int MEASURED_STEPS = 3;

    private static final long LEAST_WAIT_MILLIS = 12;
    private static final long LONGEST_WAIT_MILLIS = 1500;

    private final LookupFixture fixture;
    private final String table;
    private final String lookup;
    private final LookupPlan plan;
    private final ExecutorService operator = Executors.newSingleThreadExecutor();
    private final List<Session> sessions = new ArrayList<>();
    /** The newest is the last. */
    private final List<ShardRouter> routers = new CopyOnWriteArrayList<>();

    private final List<String> story = new ArrayList<>();
    private Random random = new Random();
    private Kind kind = Kind.MIXED;
    private List<LookupEntry> rows = List.of();
    private List<String> values = List.of();
    /** How often a session does each thing: histories without one of them find others sooner. */
    private int[] weights = {};

    private @Nullable Future<?> operating;
    private int moves;
    /** Routers that hear know that they have to ask for the lookup again. */
    private volatile boolean isGone;

    /** Measured, so that histories are the same beside a busy machine. */
    private long stepMillis = LONGEST_WAIT_MILLIS;

    private long operationMillis = LONGEST_WAIT_MILLIS;

    static String changelog(int worlds) {
        StringBuilder tables = new StringBuilder("--liquibase formatted sql\n--changeset ann:worlds\n");
        for (int i = 0; i < worlds; i++) {
            tables.append("CREATE TABLE world_%s (id bigint PRIMARY KEY, uid bigint, email text);%n".formatted(i));
        }
        return tables.toString();
    }

    LookupWorld(LookupFixture fixture, int number) throws InterruptedException {
        this.fixture = fixture;
        this.table = "world_" + number;
        this.lookup = table + ".email";
        this.plan = new LookupPlan(
                lookup, true, false, false, Optional.of(new LookupDefinition.Source(table, "email", "uid", "id")));
        remake();
        for (int i = 0; i < SESSIONS; i++) {
            sessions.add(new Session(i));
        }
    }

    private static long wait(long start, long least) {
        return Math.max(least, Math.min(LONGEST_WAIT_MILLIS, WAITS_TIMES * millisSince(start)));
    }

    private static long millisSince(long start) {
        return (System.nanoTime() - start) / 1_000_000;
    }

    private long remake() throws InterruptedException {
        long start = System.nanoTime();
        create();
        BackfillReport report = fixture.lookups().backfill(lookup, BackfillSettings.DEFAULT, done -> {});
        hear();
        operationMillis = Math.min(operationMillis, wait(start, 10 * LEAST_WAIT_MILLIS));
        return report.refused();
    }

    /** One at a time, as it looks at the tables of all shards. */
    private void create() throws InterruptedException {
        synchronized (fixture) {
            fixture.lookups().create(plan);
        }
    }

    /** Makes a router that knows the lookup as it is now. */
    private void hear() {
        ShardRouter router = fixture.router()
                .poolSize(SESSIONS + 1)
                .retryPolicy(
                        RetryPolicy.DEFAULT.withDeadline(Duration.ofMillis(250)).withSerializationFailures())
                .customizePools((server, config) -> {
                    var source = ServerUrl.parse(server.url()).dataSource();
                    source.setApplicationName(table);
                    config.setDataSource(source);
                    config.setMinimumIdle(0);
                })
                .build();
        router.lookup(lookup);
        routers.add(router);
        isGone = false;
    }

    private ShardRouter router() {
        boolean isDeaf = kind.hasDeafRouters && random.nextBoolean();
        return routers.get(isDeaf ? 0 : routers.size() - 1);
    }

    /** Plays the history of a seed; returns what is wrong in the end, and how it came to be. */
    Optional<String> play(Kind played, long seed, boolean withMoves) throws Exception {
        begin(played, seed);
        moves = withMoves ? 1 : 0;
        for (int turn = 0; turn < TURNS; turn++) {
            turn();
        }
        endAll();
        if (operating != null) {
            operating.get(60, TimeUnit.SECONDS);
        }
        Optional<String> wrong = check();
        return wrong.map(what ->
                "%s in history %s of %s:%n%s".formatted(what, seed, kind, String.join(System.lineSeparator(), story)));
    }

    private void begin(Kind played, long seed) throws Exception {
        kind = played;
        random = new Random(seed);
        story.clear();
        operating = null;
        while (routers.size() > 1) {
            routers.remove(0).close();
        }
        fixture.everywhere("DELETE FROM ${shard.schema}." + table);
        makeReady();
        boolean isUndone = kind == Kind.UNDONE;
        weights = new int[] {
            3 + random.nextInt(4),
            2 + random.nextInt(3),
            random.nextInt(2),
            random.nextInt(2),
            3 * random.nextInt(2),
            2 + random.nextInt(4)
        };
        rows = new ArrayList<>();
        values = new ArrayList<>();
        for (int i = 0; i < (isUndone ? 2 : 2 + random.nextInt(2)); i++) {
            long uid = random.nextInt(1000);
            rows.add(new LookupEntry(uid, insert(uid)));
        }
        for (int i = 0; i < (isUndone ? 1 : 1 + random.nextInt(2)); i++) {
            values.add("%s-%s-%s".formatted(kind, seed, "ab".charAt(i)));
        }
        stepMillis = LONGEST_WAIT_MILLIS;
        for (int i = 0; i < MEASURED_STEPS; i++) {
            long start = System.nanoTime();
            giveRowItsValue();
            stepMillis = Math.min(stepMillis, wait(start, LEAST_WAIT_MILLIS));
        }
        tell("row 0 has value a");
    }

    private void giveRowItsValue() throws SQLException {
        ShardRouter router = routers.get(0);
        router.<SQLException>run(rows.get(0).key(), tx -> {
            router.lookup(lookup)
                    .claim(values.get(0), rows.get(0).uid(), rows.get(0).id());
            write(tx.connection(), tx.schema(), rows.get(0), values.get(0));
        });
    }

    private long insert(long uid) throws SQLException {
        return routers.get(0)
                .<Long, SQLException>write(
                        uid,
                        tx -> Sql.list(
                                        tx.connection(),
                                        "INSERT INTO %s.%s (uid) VALUES (?) RETURNING id".formatted(tx.schema(), table),
                                        row -> row.getLong(1),
                                        uid)
                                .get(0));
    }

    private void write(Connection connection, String schema, LookupEntry row, @Nullable String value)
            throws SQLException {
        Sql.list(
                connection,
                "UPDATE %s.%s SET email = ?::text WHERE id = ? RETURNING id".formatted(schema, table),
                one -> one.getLong(1),
                value,
                row.id());
    }

    private synchronized void tell(String what) {
        story.add(what);
    }

    private static String shown(@Nullable String value) {
        return value == null ? "nothing" : value.substring(value.length() - 1);
    }

    private int weighted(int[] its) {
        int left = random.nextInt(IntStream.of(its).sum());
        for (int i = 0; ; i++) {
            left -= its[i];
            if (left < 0) {
                return i;
            }
        }
    }

    private void turn() throws Exception {
        List<Session> free = sessions.stream().filter(Session::isFree).toList();
        boolean mayOperate = operating == null || operating.isDone();
        if (mayOperate && kind.remaking > 0 && (isGone || random.nextInt(100) < kind.remaking)) {
            operate();
        } else if (kind == Kind.MIXED && random.nextInt(12) == 0) {
            disturb();
        } else if (free.isEmpty()) {
            TimeUnit.MILLISECONDS.sleep(stepMillis);
        } else {
            free.get(random.nextInt(free.size())).next();
        }
    }

    /** Those first that need not wait for others. */
    private void endAll() throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (sessions.stream().anyMatch(Session::isInside)) {
            if (System.nanoTime() - end > 0) {
                throw new IllegalStateException("a session does not end: " + story);
            }
            for (Session session : sessions) {
                if (session.isInside() && session.isFree()) {
                    session.step("end", () -> session.end(random.nextInt(4) > 0));
                }
            }
            TimeUnit.MILLISECONDS.sleep(1);
        }
    }

    private void operate() throws Exception {
        if (moves > 0 && random.nextInt(3) == 0) {
            moves--;
            operate("moves a shard", this::move);
            return;
        }
        Optional<LookupDefinition.State> state = state();
        if (state.isEmpty()) {
            operate("creates the lookup", () -> {
                create();
                hear();
                return true;
            });
            return;
        }
        switch (state.get()) {
            case CREATING, DROPPING, READY -> {
                isGone = true;
                operate("drops the lookup", () -> {
                    fixture.lookups().drop(lookup, Duration.ZERO);
                    return true;
                });
            }
            case FILLING -> {
                boolean dropsIt = random.nextInt(8) == 0;
                isGone = dropsIt;
                operate(dropsIt ? "drops the lookup" : "fills the lookup", () -> {
                    if (dropsIt) {
                        fixture.lookups().drop(lookup, Duration.ZERO);
                        return true;
                    }
                    return fixture.lookups().backfill(lookup, BackfillSettings.DEFAULT, done -> {});
                });
            }
        }
    }

    private boolean move() {
        ShardMap map = ShardCatalog.at(fixture.catalog()).load();
        int shard = map.shardOfUid(rows.get(0).uid());
        String from = map.server(shard).name();
        Mover mover = Mover.at(fixture.catalog(), MoveSettings.DEFAULT, MoveListener.NONE);
        mover.carryOut(
                mover.beginOrResume(from, from.equals("db1") ? "db2" : "db1", ShardSet.of(shard), "a test"), false);
        return true;
    }

    private void operate(String what, Callable<?> task) throws Exception {
        tell("operator " + what);
        operating = operator.submit(() -> {
            try {
                Object result = task.call();
                tell("operator " + what + ": done" + (result instanceof BackfillReport ? ", " + result : ""));
            } catch (Exception e) {
                tell("operator " + what + ": " + e.getMessage());
            }
        });
        try {
            operating.get(operationMillis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            tell("operator waits");
        }
    }

    private void disturb() throws SQLException {
        String how = random.nextBoolean() ? "pg_cancel_backend" : "pg_terminate_backend";
        int server = random.nextInt(2);
        tell("%s on db%s".formatted(how, server + 1));
        try (Connection connection = fixture.connect(server)) {
            Sql.list(
                    connection,
                    "SELECT %s(pid) FROM pg_stat_activity WHERE application_name = ? AND state <> 'idle' ORDER BY random() LIMIT 1"
                            .formatted(how),
                    row -> row.getBoolean(1),
                    table);
        }
    }

    /** A thread of an application, in a transaction or between two. */
    private final class Session {

        private final String name;
        private final ExecutorService thread = Executors.newSingleThreadExecutor();
        private @Nullable OpenWork work;
        private int[] habits = {};

        Session(int number) {
            this.name = "session " + number;
        }

        boolean isInside() {
            return work != null && !work.hasEnded();
        }

        boolean isFree() {
            return work == null || work.hasEnded() || work.isWaiting();
        }

        void next() throws Exception {
            if (!isInside()) {
                begin();
                return;
            }
            OpenWork its = Objects.requireNonNull(work);
            String value = values.get(random.nextInt(values.size()));
            int what = weighted(habits);
            if (kind == Kind.UNDONE && what < HABITS.length) {
                habits = HABITS[what];
            }
            switch (what) {
                case 0 -> step("claims " + shown(value), () -> its.claim(value));
                case 1 -> step("releases " + shown(value), () -> its.release(value));
                case 2 -> step("changes to " + shown(value), () -> its.change(value));
                case 3 -> step("writes", its::write);
                case 4 -> {
                    if (its.savepoints.isEmpty() || (kind != Kind.UNDONE && random.nextInt(3) == 0)) {
                        step("sets a savepoint", its::save);
                    } else {
                        step("rolls back to a savepoint", its::rollBackToSavepoint);
                    }
                }
                default -> step("end", () -> end(random.nextInt(6) > 0));
            }
        }

        private void begin() throws Exception {
            int row = kind == Kind.UNDONE ? random.nextInt(3) / 2 : random.nextInt(rows.size());
            ShardRouter router = router();
            OpenWork its = new OpenWork(router, rows.get(row), kind.locksRows);
            work = its;
            tell("%s begins with row %s, router %s of %s"
                    .formatted(name, row, routers.indexOf(router), routers.size()));
            thread.execute(() -> its.run(what -> tell(name + " " + what)));
            its.awaitStep(stepMillis);
            habits = weights;
            if (kind == Kind.UNDONE) {
                step("sets a savepoint", its::save);
                habits = row == 0 ? HOLDER_BEGINS : OTHER_BEGINS;
            }
        }

        void end(boolean commits) throws Exception {
            if (work != null) {
                work.end(commits);
            }
        }

        @FunctionalInterface
        interface Order {
            void give() throws Exception;
        }

        void step(String what, Order order) throws Exception {
            if (!what.equals("end")) {
                tell(name + " " + what);
            }
            order.give();
            if (work != null) {
                work.awaitStep(stepMillis);
            }
        }
    }

    /**
     * Returns what is wrong. Until a lookup is ready, values of older rows can be claimed by others; then the backfill has to say so.
     */
    private Optional<String> check() throws Exception {
        Map<String, LookupEntry> holders = new HashMap<>();
        Optional<String> twice = Optional.empty();
        for (String row : fixture.everywhere(
                "SELECT concat_ws(' ', email, uid, id) FROM ${shard.schema}." + table + " WHERE email IS NOT NULL")) {
            String[] its = row.split(" ", -1);
            LookupEntry other = holders.put(its[0], new LookupEntry(Long.parseLong(its[1]), Long.parseLong(its[2])));
            if (other != null) {
                twice = Optional.of("two rows have one value: %s, and %s".formatted(row, other));
            }
        }
        if (makeReady() > 0) {
            return Optional.empty();
        }
        if (twice.isPresent()) {
            return twice;
        }
        if (kind.remaking > 0) {
            hear(); // The others may have asked just before the lookup was ready.
        }
        Lookup its = routers.get(routers.size() - 1).lookup(lookup);
        for (Map.Entry<String, LookupEntry> holder : holders.entrySet()) {
            Optional<LookupEntry> found = its.find(holder.getKey());
            if (!found.equals(Optional.of(holder.getValue()))) {
                return Optional.of("%s is found in place of %s".formatted(found, holder));
            }
        }
        if (kind.locksRows) {
            return fixture.lookups().verify(lookup, 1).differences().stream()
                    .filter(difference -> values.stream().anyMatch(difference::contains))
                    .findFirst();
        }
        return Optional.empty();
    }

    private Optional<LookupDefinition.State> state() {
        return ShardCatalog.at(fixture.catalog()).lookups().stream()
                .filter(one -> one.name().equals(lookup))
                .map(LookupDefinition::state)
                .findFirst();
    }

    /** Returns how many rows cannot be found by their value. */
    private long makeReady() throws InterruptedException {
        Optional<LookupDefinition.State> state = state();
        if (state.equals(Optional.of(LookupDefinition.State.READY))) {
            return 0;
        }
        if (state.equals(Optional.of(LookupDefinition.State.DROPPING))) {
            fixture.lookups().drop(lookup, Duration.ZERO);
        }
        return remake();
    }

    @Override
    public void close() {
        operator.shutdownNow();
        sessions.forEach(session -> session.thread.shutdownNow());
        routers.forEach(ShardRouter::close);
    }

    /** The transaction of a session, which waits for orders. */
    private final class OpenWork {

        private final ShardRouter router;
        private final LookupEntry row;
        private final boolean locksRow;
        private final OrderedTransaction orders = new OrderedTransaction();
        private final ArrayDeque<Standing> savepoints = new ArrayDeque<>();
        private Standing standing = new Standing(List.of(), false, null, false, null);

        /** What this transaction believes of its row. */
        private record Standing(
                List<String> claimed,
                boolean hasTouched,
                @Nullable String had,
                boolean hasWritten,
                @Nullable Savepoint savepoint) {}

        OpenWork(ShardRouter router, LookupEntry row, boolean locksRow) {
            this.router = router;
            this.row = row;
            this.locksRow = locksRow;
        }

        boolean hasEnded() {
            return orders.hasEnded();
        }

        boolean isWaiting() {
            return orders.isWaiting();
        }

        void awaitStep(long millis) throws InterruptedException {
            orders.awaitIdle(millis);
        }

        void run(Consumer<String> teller) {
            try {
                router.<Exception>run(row.key(), tx -> {
                    savepoints.clear();
                    standing = new Standing(List.of(), false, read(tx), false, null);
                    orders.obey(tx, teller);
                });
                teller.accept("has committed");
            } catch (OrderedTransaction.RolledBack e) {
                teller.accept("has rolled back");
            } catch (Exception e) {
                teller.accept("has failed: " + e);
            } finally {
                orders.ended();
            }
        }

        private @Nullable String read(ShardTransaction tx) throws SQLException {
            return Sql.list(
                            tx.connection(),
                            "SELECT email FROM %s.%s WHERE id = ? %s"
                                    .formatted(tx.schema(), table, locksRow ? "FOR UPDATE" : ""),
                            one -> one.getString(1),
                            row.id())
                    .get(0);
        }

        private Lookup its() {
            if (!kind.hasDeafRouters && (isGone || router != routers.get(routers.size() - 1))) {
                throw new IllegalStateException("the lookup is being made again");
            }
            return router.lookup(lookup);
        }

        void claim(String value) {
            orders.give(tx -> {
                its().claim(value, row.uid(), row.id());
                claimed(value);
            });
        }

        private void claimed(String value) {
            List<String> now = new ArrayList<>(standing.claimed());
            now.remove(value);
            now.add(value);
            standing = new Standing(now, true, standing.had(), false, standing.savepoint());
        }

        private void released(String value) {
            List<String> now = new ArrayList<>(standing.claimed());
            now.remove(value);
            standing = new Standing(now, true, standing.had(), false, standing.savepoint());
        }

        void release(String value) {
            orders.give(tx -> {
                its().release(value, row.uid(), row.id());
                released(value);
            });
        }

        void change(String value) {
            orders.give(tx -> {
                String had = standing.had();
                its().change(had, value, row.uid(), row.id());
                if (had != null) {
                    released(had);
                }
                claimed(value);
            });
        }

        void save() {
            orders.give(tx -> {
                Savepoint savepoint = tx.connection().setSavepoint();
                standing = new Standing(
                        standing.claimed(), standing.hasTouched(), standing.had(), standing.hasWritten(), savepoint);
                savepoints.push(standing);
            });
        }

        @SuppressWarnings("ReferenceEquality") // savepoints with equal standings are two
        void rollBackToSavepoint() {
            orders.give(tx -> {
                if (savepoints.isEmpty()) {
                    return;
                }
                Standing then = savepoints.size() % 2 == 0 ? savepoints.getLast() : savepoints.getFirst();
                while (savepoints.peek() != then) {
                    savepoints.pop();
                }
                tx.connection().rollback(then.savepoint());
                standing = then;
            });
        }

        void write() {
            orders.give(this::write);
        }

        /** A row has only values that its transaction has claimed. */
        private void write(ShardTransaction tx) throws SQLException {
            if (!standing.hasTouched()) {
                return;
            }
            List<String> claimed = standing.claimed();
            String target = claimed.isEmpty() ? null : claimed.get(claimed.size() - 1);
            LookupWorld.this.write(tx.connection(), tx.schema(), row, target);
            standing = new Standing(claimed, true, standing.had(), true, standing.savepoint());
        }

        void end(boolean commits) {
            if (!commits) {
                orders.end(false);
                return;
            }
            orders.give(tx -> {
                if (locksRow && standing.hasTouched()) {
                    List<String> claimed = new ArrayList<>(standing.claimed());
                    String target = claimed.isEmpty() ? null : claimed.remove(claimed.size() - 1);
                    String had = standing.had();
                    if (had != null && !had.equals(target) && !claimed.contains(had)) {
                        claimed.add(had);
                    }
                    for (String other : claimed) {
                        its().release(other, row.uid(), row.id());
                        released(other);
                    }
                }
                if (!standing.hasWritten()) {
                    write(tx);
                }
            });
            orders.end(true);
        }
    }
}
