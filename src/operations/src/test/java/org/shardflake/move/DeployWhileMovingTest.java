/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.deploy.DeployReport;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.install.Installation;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;

/** Deployments to shards that are being moved: each changes the shard and its copy. */
class DeployWhileMovingTest {

    private static final String BEGINNING = AccountShards.CHANGELOG + """
            --changeset ann:old
            CREATE TABLE old (id bigint PRIMARY KEY, place text NOT NULL, code text NOT NULL);
            CREATE INDEX old_code ON old (code);
            ALTER TABLE account ADD COLUMN rank integer NOT NULL DEFAULT 0;
            """;

    private static final ShardSet MOVING = ShardSet.of(1, 2);

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;
    private Mover mover;
    private Path changelog;
    private Installation installation;
    private int changeSets;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, 4, directory, BEGINNING);
        changelog = directory.resolve("accounts.sql");
        mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        installation = new Installation(shards.catalogUrl(), server -> shards.url(server.name()));
        for (int shard = 0; shard < 4; shard++) {
            shards.execute(
                    "db1",
                    "INSERT INTO shard_000%s.old (place, code) SELECT 'here', 'c' FROM generate_series(1, 100)"
                            .formatted(shard));
        }
    }

    /** Writers use each table from the moment when it is there, and so does a trigger. */
    @Test
    void newTablesAreFollowedFromTheirFirstRowOn() throws Exception {
        Move move = follow();
        try (ShardRouter router = shards.router().build();
                AccountLoad load = AccountLoad.start(router, ShardSet.range(0, 3), 2, 1);
                NewTableWriters writers = new NewTableWriters(router)) {
            load.awaitMore(50);

            deploy(
                    "CREATE TABLE event (id bigint PRIMARY KEY, uid bigint NOT NULL, account bigint REFERENCES account ON DELETE CASCADE, at timestamptz NOT NULL DEFAULT clock_timestamp(), serial bigint GENERATED ALWAYS AS IDENTITY); CREATE UNIQUE INDEX event_at ON event (serial, at); CREATE INDEX ON event (account)",
                    "CREATE TABLE audit (key uuid PRIMARY KEY DEFAULT gen_random_uuid(), account bigint NOT NULL); CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS 'BEGIN INSERT INTO audit (account) VALUES (NEW.id); RETURN NULL; END'; CREATE TRIGGER account_audit AFTER INSERT OR UPDATE ON account FOR EACH ROW EXECUTE FUNCTION audit()",
                    "CREATE TABLE kind (LIKE old INCLUDING ALL); INSERT INTO kind (id, place, code) SELECT id, place, 'new' FROM old; CREATE TABLE copied (id bigint PRIMARY KEY, uid bigint); INSERT INTO copied (id, uid) SELECT id, uid FROM account",
                    "CREATE TABLE summary AS SELECT id, balance, random() AS luck FROM account; ALTER TABLE summary ADD PRIMARY KEY (id)");
            writers.awaitMore();
            assertAlike();
            mover.cutOver(move.id(), ShardSet.of(1));
            writers.awaitMore();
            deploy("CREATE TABLE event2 (id bigint PRIMARY KEY, uid bigint NOT NULL, account bigint)");
            writers.awaitMore();
            assertAlike();
            mover.reverse(move.id(), ShardSet.of(1));
            deploy(
                    "CREATE TABLE event3 (id bigint PRIMARY KEY, uid bigint NOT NULL, account bigint REFERENCES event2)",
                    "DROP TABLE kind");
            writers.awaitMore();
            assertAlike();
            mover.cutOver(move.id(), MOVING);
            writers.awaitMore();
            assertAlike();
            mover.complete(move.id());
            load.close();
            writers.close();
            assertThat(load.failures()).isEmpty();
            assertThat(load.compare(shards)).isEmpty();
            writers.assertKept("db2");
        }
        assertThat(shards.leftovers("db1")).isZero();
        assertThat(shards.leftovers("db2")).isZero();
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0001.summary WHERE luck > 0"))
                .isPositive();
    }

    /** Insert into the tables event, event2 and event3 of moving shards as soon as these are there, and count what was acknowledged. */
    private final class NewTableWriters implements AutoCloseable {

        private static final List<String> TABLES = List.of("event", "event2", "event3");

        private final ExecutorService threads = Executors.newCachedThreadPool();
        private final Map<String, AtomicLong> written = new ConcurrentHashMap<>();
        private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
        private volatile boolean stopped;

        NewTableWriters(ShardRouter router) {
            for (int shard : MOVING.stream().toArray()) {
                threads.execute(() -> write(router, shard));
            }
        }

        private void write(ShardRouter router, int shard) {
            while (!stopped) {
                try {
                    String table = "shard_000%s.%s"
                            .formatted(
                                    shard,
                                    TABLES.get(ThreadLocalRandom.current().nextInt(TABLES.size())));
                    boolean wrote = router.write((long) shard, tx -> {
                        boolean exists = Sql.isTrue(tx.connection(), "SELECT to_regclass(?) IS NOT NULL", table);
                        if (exists) {
                            Sql.call(tx.connection(), "INSERT INTO %s (uid) VALUES (?)".formatted(table), (long) shard);
                        }
                        return exists;
                    });
                    if (wrote) {
                        written.computeIfAbsent(table, name -> new AtomicLong()).incrementAndGet();
                    }
                    Thread.sleep(3); // The servers share the machine.
                } catch (Throwable e) {
                    failures.add(e);
                }
            }
        }

        void awaitMore() throws InterruptedException {
            long enough = total() + 50;
            while (total() < enough && failures.isEmpty()) {
                Thread.sleep(5);
            }
            assertThat(failures).isEmpty();
        }

        private long total() {
            return written.values().stream().mapToLong(AtomicLong::get).sum();
        }

        void assertKept(String server) throws SQLException {
            assertThat(failures).isEmpty();
            assertThat(written).hasSize(TABLES.size() * MOVING.size());
            for (Map.Entry<String, AtomicLong> table : written.entrySet()) {
                assertThat(shards.number(server, "SELECT count(*) FROM " + table.getKey()))
                        .as(table.getKey())
                        .isEqualTo(table.getValue().get());
            }
        }

        @Override
        public void close() throws InterruptedException {
            stopped = true;
            threads.shutdown();
            assertThat(threads.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
        }
    }

    @Test
    @Tag("full")
    void aDeploymentThatDiesBetweenTheTwoIsFinishedByTheNext() throws Exception {
        dieAndFinish("ALTER TABLE account ADD COLUMN place text NOT NULL DEFAULT 'x'", "place, code");
        // The copy has a column that is NOT NULL and gets no values any more.
        dieAndFinish("ALTER TABLE old DROP COLUMN place", "code");
    }

    /** Both servers have the table and its line of the history, so only the streams show that something is left to do. */
    @Test
    @Tag("full")
    void aDeploymentThatDiesBeforeItsTablesAreFollowedIsFinishedByTheNextOrByACutover() throws Exception {
        Move move = follow();
        add("CREATE TABLE event (id bigint PRIMARY KEY, uid bigint NOT NULL)");
        killHalf(DeployFollowedProcess.Point.BEFORE_TABLES_FOLLOW);
        assertThat(facts("db1", 1)).isEqualTo(facts("db2", 1));
        shards.execute("db1", "INSERT INTO shard_0001.event (uid) VALUES (1)");
        assertThat(deployNow().isComplete()).isTrue();
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0001.event"))
                .isOne();

        add("CREATE TABLE event2 (id bigint PRIMARY KEY, uid bigint NOT NULL)");
        killHalf(DeployFollowedProcess.Point.BEFORE_TABLES_FOLLOW);
        shards.execute("db1", "INSERT INTO shard_0001.event2 (uid) VALUES (1)");
        mover.cutOver(move.id(), ShardSet.of(1));
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0001.event2"))
                .isOne();
        shards.execute("db2", "INSERT INTO shard_0001.event2 (uid) VALUES (1)");
        assertThat(deployNow().isComplete()).isTrue();
        assertAlike();
    }

    /** Where a move ends, its copies are being removed; where it begins, they are about to follow. */
    @Test
    @Tag("full")
    void noPhaseStopsARelease() throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Future<DeployReport>> deployments = new ArrayList<>();
        List<String> refused = new ArrayList<>();
        MoveListener listener = new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                try {
                    if (step == MoveStep.SLOT_CREATED) {
                        add("ALTER TABLE account ADD COLUMN early text");
                        try {
                            installation.deploy(changelog, settings(1), done -> {});
                        } catch (ShardflakeException e) {
                            refused.add(e.getMessage() + e.hint());
                        }
                        deployments.add(threads.submit(DeployWhileMovingTest.this::deployNow));
                    } else if (step == MoveStep.ENDING) {
                        add("ALTER TABLE account ADD COLUMN late text");
                        DeployReport report = deployNow();
                        assertThat(report.isComplete()).as(report.toString()).isTrue();
                    }
                } catch (IOException | InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        };
        Mover watched = shards.mover(MoveSettings.DEFAULT, listener);
        Move move = watched.record("db1", "db2", MOVING, "");

        watched.follow(move.id());
        assertThat(refused)
                .singleElement()
                .asString()
                .contains("shards 1,2 are being moved by move 1, which is copying", "wait until the copies follow");
        assertThat(deployments.get(0).get(1, TimeUnit.MINUTES).isComplete()).isTrue();
        assertAlike();
        mover.cutOver(move.id(), MOVING);
        watched.complete(move.id());

        assertThat(shards.number("db2", "SELECT count(late) + count(early) FROM shard_0001.account"))
                .isZero();
        assertThat(deployNow().isComplete()).isTrue();
        threads.shutdown();
    }

    /** @param columns those of table old afterwards */
    private void dieAndFinish(String sql, String columns) throws Exception {
        for (int shard : MOVING.stream().toArray()) {
            shards.execute(
                    "db1",
                    "INSERT INTO shard_000%1$s.account (uid, balance) SELECT %1$s + 4 * n, n FROM generate_series(1, 500) n"
                            .formatted(shard));
        }
        if (mover.moves().isEmpty()) {
            follow();
        }
        long move = mover.moves().get(0).id();
        add(sql);
        killHalf(DeployFollowedProcess.Point.BETWEEN);
        assertThat(facts("db1", 1)).as(sql).isNotEqualTo(facts("db2", 1));
        String values = columns.replaceAll("\\w+", "'w'");
        shards.execute(
                "db1",
                "INSERT INTO shard_0001.old (%s) VALUES (%s);".formatted(columns, values)
                        + "UPDATE shard_0002.account SET note = 'since' WHERE balance < 10");
        assertThatThrownBy(() -> mover.cutOver(move, ShardSet.of(1)))
                .hasMessageContaining("shard 1 has another schema on the target");

        assertThat(deployNow().isComplete()).isTrue();

        assertAlike();
        mover.cutOver(move, ShardSet.of(1));
        mover.reverse(move, ShardSet.of(1));
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0001.old WHERE code = 'w'"))
                .isPositive();
    }

    @Test
    void whatCannotBeDoneToACopyIsRefused() throws Exception {
        follow();
        List<String> before = facts("db1", 1);
        String beginning = Files.readString(changelog);
        add("ALTER TABLE account ADD COLUMN place text");
        add("ALTER TABLE account ALTER COLUMN rank TYPE bigint");
        assertThatThrownBy(this::deployNow)
                .isInstanceOf(ShardflakeException.class)
                .hasMessageContaining(
                        "changeset accounts.sql::c2::ann changes the type of a column, which rewrites its table, and shard 1 is being moved by move 1. No shard was changed");
        Files.writeString(changelog, beginning + """

                        --changeset ann:asked
                        --preconditions onFail:MARK_RAN
                        --precondition-sql-check expectedResult:0 SELECT count(*) FROM ${shard.schema}.account
                        ALTER TABLE account ADD COLUMN place text;
                        """);
        assertThatThrownBy(this::deployNow)
                .hasMessageContaining(
                        "changeset accounts.sql::asked::ann has preconditions, which the two servers may answer differently, and shard 1 is being moved by move 1. No shard was changed")
                .extracting(e -> ((ShardflakeException) e).hint())
                .asString()
                .contains("deploy it when the move is done");
        Files.writeString(changelog, beginning);
        add("ALTER TABLE account ADD COLUMN at timestamptz DEFAULT 'now'"); // as only its effect shows

        DeployReport report = deployNow();

        assertThat(report.failures())
                .hasSize(2)
                .allSatisfy(failure ->
                        assertThat(failure.error()).contains("would fill column account.at with different values"));
        assertThat(facts("db1", 1)).isEqualTo(before);
        Files.writeString(changelog, beginning);
        // Rows that break the check on ids, which is not validated then, but which a copy of them would meet.
        add("CREATE TABLE b AS SELECT 7 :: bigint AS id; ALTER TABLE b ADD PRIMARY KEY (id)");
        assertThat(deployNow().failures())
                .hasSize(2)
                .allSatisfy(failure -> assertThat(failure.error()).contains("is violated by some row"));
        assertThat(facts("db1", 1)).isEqualTo(before);
        assertThat(facts("db2", 1)).isEqualTo(before);
    }

    private Move follow() {
        return mover.follow(mover.record("db1", "db2", MOVING, "").id());
    }

    private void deploy(String... statements) throws Exception {
        for (String sql : statements) {
            add(sql);
        }
        DeployReport report = deployNow();
        assertThat(report.isComplete()).as(report.toString()).isTrue();
    }

    private void add(String sql) throws IOException {
        Files.writeString(
                changelog,
                Files.readString(changelog)
                        + "\n--changeset ann:c%s splitStatements:true\n%s;\n".formatted(++changeSets, sql));
    }

    private DeployReport deployNow() throws InterruptedException {
        return installation.deploy(changelog, settings(), done -> {});
    }

    private DeploySettings settings() {
        return settings(50);
    }

    private DeploySettings settings(int tries) {
        return FollowedDeployments.settings(directory, tries);
    }

    /** Has a process deploy until it is between the two servers, or has created tables that the copies do not follow in yet, and kills it there. */
    private void killHalf(DeployFollowedProcess.Point point) throws Exception {
        Process process = FollowedDeployments.start(
                shards, DeployFollowedProcess.class, point.name(), changelog.toString(), MOVING.toString());
        try (BufferedReader out = process.inputReader()) {
            assertThat(out.readLine()).isEqualTo(point.name());
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    /** By {@link FollowedDeployments#facts} and row by row; the copies are closed. */
    private void assertAlike() throws SQLException {
        long move = mover.moves().get(0).id();
        for (int shard : MOVING.stream().toArray()) {
            assertThat(facts("db2", shard)).isEqualTo(facts("db1", shard));
            String copy = mover.moves().get(0).shard(shard).server().equals("db1") ? "db2" : "db1";
            assertThat(shards.number(
                            copy,
                            "SELECT count(*) FROM shardflake.sequences(%1$s) s WHERE s.makes_ids AND NOT COALESCE(shardflake.is_stopped(pg_sequence_last_value(s.target)), false)"
                                    .formatted(shard)))
                    .as("sequences that make ids of shard %s on %s, which has its copy", shard, copy)
                    .isZero();
            assertThat(shards.number(
                            copy, "SELECT count(*) FROM shardflake.fences(%s) f WHERE NOT f.fenced".formatted(shard)))
                    .as("open tables of shard %s on %s", shard, copy)
                    .isZero();
        }
        assertThat(mover.verify(move, MOVING)).isEmpty();
    }

    private List<String> facts(String server, int shard) throws SQLException {
        return FollowedDeployments.facts(shards, server, shard);
    }
}
