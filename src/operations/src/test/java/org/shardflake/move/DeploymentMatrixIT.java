/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.deploy.DeployReport;
import org.shardflake.install.Installation;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;

/**
 * Each kind of statement, deployed in each phase of a move, by commands that are killed and on servers that crash: shard and copy stay alike, the
 * application sees no error, no row is lost, and what cannot be done changes nothing.
 */
@Tag("full")
@Timeout(value = 2, unit = TimeUnit.HOURS)
class DeploymentMatrixIT {

    private static final ShardSet MOVING = ShardSet.of(1, 2);

    /** Statements that depend on one another, in order. Each chain removes what it creates, so it can be repeated. */
    private static final List<List<String>> CHAINS = List.of(
            List.of("ALTER TABLE account ADD COLUMN a1 text", "ALTER TABLE account DROP COLUMN a1"),
            List.of(
                    "ALTER TABLE account ADD COLUMN a2 integer NOT NULL DEFAULT 7",
                    "UPDATE account SET a2 = a2 + 1 WHERE a2 = 7",
                    "ALTER TABLE account DROP COLUMN a2"),
            List.of(
                    "ALTER TABLE account ADD a3 bigint REFERENCES account, ADD a4 text UNIQUE, ADD a5 jsonb DEFAULT '{}'::jsonb",
                    "ALTER TABLE account DROP a3, DROP a4, DROP a5"),
            List.of(
                    "CREATE TYPE mood AS ENUM ('calm')",
                    "ALTER TABLE entry ADD COLUMN mood mood",
                    "ALTER TYPE mood ADD VALUE 'wild'",
                    "UPDATE entry SET mood = 'wild' WHERE amount > 500",
                    "COMMENT ON TYPE mood IS 'A mood'",
                    "ALTER TABLE entry DROP COLUMN mood",
                    "DROP TYPE mood"),
            List.of(
                    "CREATE DOMAIN score AS integer DEFAULT 3",
                    "ALTER TABLE entry ADD COLUMN score score",
                    "UPDATE entry SET score = 5 WHERE amount > 500",
                    "COMMENT ON DOMAIN score IS 'A score'",
                    "ALTER TABLE entry DROP COLUMN score",
                    "DROP DOMAIN score"),
            List.of(
                    "CREATE TYPE pair AS (one integer, two text)",
                    "ALTER TABLE tag ADD COLUMN pair pair",
                    "UPDATE tag SET pair = ROW (1, 'x')::pair",
                    "ALTER TABLE tag DROP COLUMN pair",
                    "DROP TYPE pair"),
            List.of(
                    "CREATE TYPE span AS RANGE (SUBTYPE = bigint)",
                    "ALTER TABLE tag ADD COLUMN span span",
                    "ALTER TABLE tag DROP COLUMN span",
                    "DROP TYPE span"),
            List.of(
                    "CREATE INDEX i7 ON account (balance)",
                    "ALTER INDEX i7 SET (fillfactor = 80)",
                    "ALTER INDEX i7 RENAME TO i7b",
                    "COMMENT ON INDEX i7b IS 'By balance'",
                    "DROP INDEX i7b"),
            List.of("CREATE UNIQUE INDEX i8 ON entry (id, amount)", "DROP INDEX i8"),
            List.of(
                    "CREATE INDEX CONCURRENTLY i9 ON entry ((amount / 16)) WHERE amount > 10",
                    "DROP INDEX CONCURRENTLY i9"),
            List.of(
                    "CREATE UNIQUE INDEX CONCURRENTLY i10 ON entry (key, amount)",
                    "ALTER TABLE entry ADD CONSTRAINT i10 UNIQUE USING INDEX i10",
                    "COMMENT ON CONSTRAINT i10 ON entry IS 'Once'",
                    "ALTER TABLE entry DROP CONSTRAINT i10"),
            List.of(
                    "ALTER TABLE account ADD CONSTRAINT c11 CHECK (uid <> 77) NOT VALID",
                    "ALTER TABLE account VALIDATE CONSTRAINT c11",
                    "ALTER TABLE account RENAME CONSTRAINT c11 TO c11b",
                    "ALTER TABLE account DROP CONSTRAINT c11b"),
            List.of(
                    "ALTER TABLE entry ADD CONSTRAINT c12 FOREIGN KEY (account_id) REFERENCES account ON DELETE CASCADE",
                    "ALTER TABLE entry DROP CONSTRAINT c12"),
            List.of("ALTER TABLE entry ADD CONSTRAINT c13 UNIQUE (id, key)", "ALTER TABLE entry DROP CONSTRAINT c13"),
            List.of(
                    "ALTER TABLE tag ADD CONSTRAINT c14 EXCLUDE USING btree (account_id WITH =, name WITH =)",
                    "ALTER TABLE tag DROP CONSTRAINT c14"),
            List.of(
                    "ALTER TABLE entry ALTER COLUMN amount DROP NOT NULL",
                    "ALTER TABLE entry ALTER COLUMN amount SET NOT NULL"),
            List.of(
                    "ALTER TABLE account ALTER COLUMN note SET DEFAULT 'none'",
                    "ALTER TABLE account ALTER COLUMN note DROP DEFAULT"),
            List.of(
                    "ALTER TABLE account ALTER COLUMN note SET STATISTICS 500, ALTER COLUMN note SET STORAGE EXTERNAL",
                    "ALTER TABLE account ALTER COLUMN note SET (n_distinct = 5)",
                    "ALTER TABLE account ALTER COLUMN note RESET (n_distinct)",
                    "ALTER TABLE account ALTER COLUMN note SET COMPRESSION pglz"),
            List.of("ALTER TABLE account SET (fillfactor = 90)", "ALTER TABLE account RESET (fillfactor)"),
            List.of(
                    "CREATE VIEW rich AS SELECT id FROM account WHERE balance > 10",
                    "CREATE OR REPLACE VIEW rich AS SELECT id, uid FROM account WHERE balance > 100",
                    "ALTER VIEW rich ALTER COLUMN uid SET DEFAULT 3",
                    "ALTER VIEW rich SET (security_barrier = true)",
                    "ALTER VIEW rich RENAME TO wealthy",
                    "COMMENT ON VIEW wealthy IS 'Rich ones'",
                    "DROP VIEW wealthy"),
            List.of(
                    "CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.note := NEW.note; RETURN NEW; END'",
                    "CREATE TRIGGER account_stamp BEFORE INSERT ON account FOR EACH ROW EXECUTE FUNCTION stamp()",
                    "CREATE OR REPLACE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
                    "ALTER TRIGGER account_stamp ON account RENAME TO account_stamped",
                    "ALTER FUNCTION stamp() COST 10",
                    "DROP TRIGGER account_stamped ON account",
                    "DROP FUNCTION stamp()"),
            List.of(
                    "CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
                    "CREATE CONSTRAINT TRIGGER tag_look AFTER INSERT ON tag DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION look()",
                    "COMMENT ON TRIGGER tag_look ON tag IS 'Looks'",
                    "ALTER FUNCTION look() RENAME TO see",
                    "DROP TRIGGER tag_look ON tag",
                    "DROP FUNCTION see()"),
            List.of(
                    "CREATE AGGREGATE total (bigint) (SFUNC = int8pl, STYPE = bigint, INITCOND = '0')",
                    "ALTER AGGREGATE total (bigint) RENAME TO whole",
                    "COMMENT ON AGGREGATE whole (bigint) IS 'A sum'",
                    "DROP AGGREGATE whole (bigint)"),
            List.of(
                    "CREATE PROCEDURE p20() LANGUAGE sql AS 'SELECT 1'",
                    "CREATE OR REPLACE PROCEDURE p20() LANGUAGE sql AS 'SELECT 2'",
                    "ALTER PROCEDURE p20() RENAME TO p20b",
                    "DROP PROCEDURE p20b()"),
            List.of(
                    "CREATE POLICY own ON account USING (uid <> 77)",
                    "ALTER POLICY own ON account USING (uid <> 78)",
                    "ALTER POLICY own ON account RENAME TO owned",
                    "COMMENT ON POLICY owned ON account IS 'Own rows'",
                    "DROP POLICY owned ON account"),
            List.of(
                    "COMMENT ON TABLE account IS 'Accounts'",
                    "COMMENT ON COLUMN account.note IS 'Notes'",
                    "COMMENT ON COLUMN account.note IS NULL",
                    "COMMENT ON TABLE account IS NULL"),
            List.of("GRANT SELECT ON account TO PUBLIC", "REVOKE SELECT ON account FROM PUBLIC"),
            List.of(
                    "CREATE STATISTICS s24 ON uid, balance FROM account",
                    "ALTER STATISTICS s24 SET STATISTICS 100",
                    "ALTER STATISTICS s24 RENAME TO s24b",
                    "DROP STATISTICS s24b"),
            List.of(
                    "CREATE SEQUENCE counter INCREMENT BY 2",
                    "COMMENT ON SEQUENCE counter IS 'Counts'",
                    "GRANT USAGE ON SEQUENCE counter TO PUBLIC",
                    "DROP SEQUENCE counter"),
            List.of(
                    "CREATE TABLE e26 (id bigint PRIMARY KEY, uid bigint NOT NULL)",
                    "INSERT INTO e26 (id, uid) SELECT id, uid FROM account",
                    "ALTER TABLE e26 ADD COLUMN place text",
                    "DROP TABLE e26"),
            List.of(
                    "CREATE TABLE s27 AS SELECT id, balance, random() AS luck FROM account; ALTER TABLE s27 ADD PRIMARY KEY (id)",
                    "DROP TABLE s27"),
            List.of(
                    "CREATE TABLE old (id bigint PRIMARY KEY, place text NOT NULL, code text NOT NULL); CREATE INDEX old_code ON old (code)",
                    "INSERT INTO old (place, code) VALUES ('there', 'd'), ('there', 'e')",
                    "CREATE TABLE k28 (LIKE old INCLUDING ALL); INSERT INTO k28 (id, place, code) SELECT id, place, 'new' FROM old",
                    "MERGE INTO old USING (VALUES ('d')) v (code) ON old.code = v.code WHEN MATCHED THEN UPDATE SET place = 'merged'",
                    "DELETE FROM old WHERE code = 'e'",
                    "DROP TABLE k28",
                    "DROP TABLE old"),
            List.of(
                    "CREATE TABLE d29 (id bigint PRIMARY KEY, place text NOT NULL)",
                    "ALTER TABLE d29 ALTER COLUMN place DROP NOT NULL",
                    "ALTER TABLE d29 DROP COLUMN place",
                    "DROP TABLE d29"),
            List.of(
                    "CREATE TABLE h30 (id bigint, uid bigint, PRIMARY KEY (id, uid)) PARTITION BY RANGE (uid); CREATE TABLE h30_0 PARTITION OF h30 FOR VALUES FROM (MINVALUE) TO (MAXVALUE)",
                    "INSERT INTO h30 (id, uid) SELECT id, uid FROM account",
                    "CREATE INDEX h30_uid ON h30 (uid)",
                    "DROP TABLE h30"));

    private static final List<String> REFUSED = List.of(
            "ALTER TABLE account ALTER COLUMN balance TYPE numeric",
            "ALTER TABLE account RENAME COLUMN note TO remark",
            "ALTER TABLE entry RENAME TO posting",
            "ALTER TABLE account ADD COLUMN at timestamptz DEFAULT now()",
            "ALTER TABLE account ADD COLUMN number serial",
            "ALTER TABLE account ADD COLUMN twice bigint GENERATED ALWAYS AS (balance * 2) STORED",
            "ALTER TABLE account ADD COLUMN place text NOT NULL",
            "ALTER TABLE account ADD COLUMN small integer CHECK (small < 10)",
            "ALTER TABLE account ENABLE ROW LEVEL SECURITY",
            "ALTER TABLE entry REPLICA IDENTITY FULL",
            "ALTER TABLE entry SET UNLOGGED",
            "ALTER TABLE entry CLUSTER ON entry_account",
            "ALTER TABLE entry DISABLE TRIGGER ALL",
            "ALTER TABLE entry DROP CONSTRAINT entry_pkey; ALTER TABLE entry ADD PRIMARY KEY (key)",
            "ALTER SEQUENCE ticket RESTART WITH 7",
            "ALTER SEQUENCE ticket INCREMENT BY 2",
            "ALTER TYPE mood RENAME VALUE 'calm' TO 'quiet'",
            "ALTER TYPE pair ADD ATTRIBUTE three text",
            "ALTER DOMAIN score SET DEFAULT 4",
            "ALTER TABLE entry ALTER CONSTRAINT entry_account_id_fkey DEFERRABLE",
            "CREATE COLLATION plain (locale = 'C')",
            "CREATE UNLOGGED TABLE fast (id bigint PRIMARY KEY)",
            "CREATE MATERIALIZED VIEW sums AS SELECT sum(balance) FROM account",
            "CREATE RULE nothing AS ON DELETE TO tag DO INSTEAD NOTHING",
            "CREATE TABLE IF NOT EXISTS twice AS SELECT id FROM account",
            "DROP TABLE account CASCADE",
            "TRUNCATE tag",
            "DO 'BEGIN DELETE FROM tag; END'",
            "SELECT nextval('ticket')",
            "UPDATE account SET note = ''; ALTER TABLE account ALTER COLUMN note SET NOT NULL",
            "ALTER TABLE account DROP COLUMN note; ALTER TABLE account ADD COLUMN remark text");

    /** The state of a move in which changesets are deployed. */
    private enum Phase {
        COPYING,
        FOLLOWING,
        HALF_CUT_OVER,
        REVERSED,
        ENDING
    }

    private enum Victim {
        COMMAND,
        SERVER
    }

    /** The points of a move at which it copies, and at which it ends. One of each is chosen for the interruption. */
    private static final List<MoveStep> COPYING = List.of(
            MoveStep.SCHEMA_CREATED,
            MoveStep.PUBLISHED,
            MoveStep.SLOT_CREATED,
            MoveStep.SHARD_COPIED,
            MoveStep.REVERSE_SLOT_CREATED,
            MoveStep.SUBSCRIBED);

    private static final List<MoveStep> ENDING =
            List.of(MoveStep.ENDING, MoveStep.REVERSE_DROPPED, MoveStep.FORWARD_DROPPED, MoveStep.SHARD_DROPPED);

    /** The number of moves in a run. Seven deploy each statement in each phase, in about a quarter of an hour. */
    private static final int MOVES = Integer.getInteger("matrix.moves", 1);

    private static final int ALL_MOVES = 7;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final long seed = Long.getLong("matrix.seed", System.nanoTime());
    private final Random random = new Random(seed); // for the test's own thread
    private final List<Integer> next = new ArrayList<>(Collections.nCopies(CHAINS.size(), 0));
    private final Map<Phase, Set<String>> deployed = new EnumMap<>(Phase.class);
    private final Deque<String> refused = new ArrayDeque<>();
    private AccountShards shards;
    private Mover mover;
    private Installation installation;
    private Path changelog;
    private int changeSets;
    private int interruptions;

    /** The time of an undisturbed deployment; interruptions come within it. */
    private volatile long usualMillis = 2000;

    @BeforeEach
    void create() throws Exception {
        System.out.printf("-Dmatrix.seed=%s -Dmatrix.moves=%s%n", seed, MOVES);
        shards = AccountShards.create(postgres, 2, 4, directory);
        changelog = directory.resolve("accounts.sql");
        mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        installation = new Installation(shards.catalogUrl(), server -> shards.url(server.name()));
        // PostgreSQL sets sequences of a copied database back in a crash before the next checkpoint.
        for (int i = 0; i < 3; i++) {
            try (Connection connection = postgres.database(i).connect()) {
                Sql.execute(connection, "CHECKPOINT");
            }
        }
        List<String> all = new ArrayList<>(REFUSED);
        Collections.shuffle(all, random);
        refused.addAll(all);
    }

    @ParameterizedTest
    @EnumSource(Victim.class)
    void eachStatementWorksInEachPhase(Victim victim) throws Exception {
        for (int batches = random.nextInt(7); batches > 0; batches--) {
            add(batch()); // So that a run with one move has other statements in each phase.
        }
        finish("before the move");
        try (ShardRouter router = shards.router().build()) {
            ShardSet all = ShardSet.range(0, 3);
            AccountLoad load = victim == Victim.COMMAND
                    ? AccountLoad.start(router, all, 2, 5)
                    : AccountLoad.startWithOutages(router, all, 2, 5);
            try (load) {
                load.awaitMore(50);
                for (int i = 0; i < MOVES; i++) {
                    move(victim, load);
                }
            }
            assertThat(load.failures()).isEmpty();
            assertThat(load.compare(shards)).isEmpty();
        }
        Set<String> statements = new HashSet<>();
        CHAINS.forEach(statements::addAll);
        System.out.printf(
                "%s moves, %s changesets of %s statements, %s interruptions (%s), %s statements refused%n",
                MOVES, changeSets, statements.size(), interruptions, victim, REFUSED.size() - refused.size());
        if (MOVES >= ALL_MOVES) {
            for (Phase phase : Phase.values()) {
                assertThat(deployed.get(phase)).as(phase.name()).isEqualTo(statements);
            }
            assertThat(refused).isEmpty();
        }
    }

    /** One move, with changesets in each of its phases. It ends on one server or the other. */
    private void move(Victim victim, AccountLoad load) throws Exception {
        String source = shards.catalog().load().server(1).name();
        Move move = mover.record(source, source.equals("db1") ? "db2" : "db1", MOVING, "");
        long id = move.id();
        duringMove(Phase.COPYING, victim, COPYING, its -> its.follow(id));
        assertAlike(Phase.COPYING.name());

        whileItFollows(Phase.FOLLOWING, victim, id);
        load.awaitMore(20);
        repeat(() -> mover.cutOver(id, ShardSet.of(1)));
        whileItFollows(Phase.HALF_CUT_OVER, victim, id);
        load.awaitMore(20);
        repeat(() -> mover.cutOver(id, ShardSet.of(2)));
        repeat(() -> mover.reverse(id, ShardSet.of(1)));
        whileItFollows(Phase.REVERSED, victim, id);
        load.awaitMore(20);

        if (random.nextBoolean()) {
            repeat(() -> mover.cutOver(id, ShardSet.of(1)));
            duringMove(Phase.ENDING, victim, ENDING, its -> its.complete(id));
        } else {
            repeat(() -> mover.reverse(id, ShardSet.of(2)));
            duringMove(Phase.ENDING, victim, ENDING, its -> its.cancel(id, Mover.End.BACK));
        }
        ShardMap map = shards.catalog().load();
        for (int shard : MOVING.stream().toArray()) {
            assertThat(facts(map.server(shard).name(), shard)).containsExactlyElementsOf(facts("db1", 0));
        }
        assertThat(shards.leftovers("db1")).isZero();
        assertThat(shards.leftovers("db2")).isZero();
    }

    /** Starts a deployment at a step of a move, interrupts it, and deploys the rest while the move continues. */
    private void duringMove(Phase phase, Victim victim, List<MoveStep> steps, Work work) throws Exception {
        String what = begin(phase);
        MoveStep where = steps.get(random.nextInt(steps.size()));
        Interruption interruption = interruption(victim);
        AtomicReference<CompletableFuture<Void>> deploying = new AtomicReference<>();
        Mover interrupted = shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == where && deploying.get() == null) {
                    deploying.set(new CompletableFuture<>());
                    // On threads of their own: that of the move may be interrupted.
                    CompletableFuture.runAsync(interruption).join();
                    deploying.set(CompletableFuture.runAsync(() -> finish(what)));
                }
            }
        });
        repeat(() -> {
            if (!interrupted.moves().isEmpty()) {
                work.on(interrupted);
            }
        });
        CompletableFuture<Void> rest = Objects.requireNonNull(deploying.get(), where + " was not reached");
        rest.get(10, TimeUnit.MINUTES);
    }

    private interface Work {
        void on(Mover mover);
    }

    private void whileItFollows(Phase phase, Victim victim, long move) throws Exception {
        String what = begin(phase);
        interruption(victim).run();
        if (random.nextBoolean()) {
            turn(move, 1); // A deployment that is half done keeps the shard where it is.
        }
        finish(what);
        assertAlike(what);
        assertThat(mover.verify(move, MOVING)).isEmpty();
        int refusals = MOVES >= ALL_MOVES ? 2 : 1;
        for (int i = 0; i < refusals && !refused.isEmpty(); i++) {
            String before = Files.readString(changelog);
            assertRefused(refused.remove());
            Files.writeString(changelog, before);
        }
    }

    /** Cuts a shard over and back, or the other way round, unless the schemas differ. */
    private void turn(long move, int shard) {
        try {
            boolean isOver = mover.move(move)
                    .shard(shard)
                    .server()
                    .equals(mover.move(move).target());
            ShardSet its = ShardSet.of(shard);
            if (isOver) {
                mover.reverse(move, its);
                mover.cutOver(move, its);
            } else {
                mover.cutOver(move, its);
                mover.reverse(move, its);
            }
        } catch (ShardflakeException e) {
            assertThat(e).hasMessageContaining("has another schema on the");
        }
    }

    /** The next statement of each chain, in any order. A chain as long as a move has phases leaves out a turn, so that it meets all of them. */
    private List<String> batch() {
        List<String> batch = new ArrayList<>();
        for (int i = 0; i < CHAINS.size(); i++) {
            List<String> chain = CHAINS.get(i);
            if (next.get(i) < chain.size()) {
                batch.add(chain.get(next.get(i)));
            }
            int turns = chain.size() % Phase.values().length == 0 ? chain.size() + 1 : chain.size();
            next.set(i, (next.get(i) + 1) % turns);
        }
        Collections.shuffle(batch, random);
        return batch;
    }

    private String begin(Phase phase) throws Exception {
        List<String> batch = batch();
        deployed.computeIfAbsent(phase, its -> new HashSet<>()).addAll(batch);
        add(batch);
        return "%s: %s".formatted(phase, batch);
    }

    private void add(List<String> statements) throws Exception {
        StringBuilder text = new StringBuilder(Files.readString(changelog));
        for (String sql : statements) {
            text.append("\n--changeset ann:m%s splitStatements:true%s\n%s;\n"
                    .formatted(++changeSets, sql.contains("CONCURRENTLY") ? " runInTransaction:false" : "", sql));
        }
        Files.writeString(changelog, text);
    }

    private DeployReport deployOnce() throws InterruptedException {
        return installation.deploy(changelog, FollowedDeployments.settings(directory, 50), done -> {});
    }

    /** The same command again, until what was interrupted is done. */
    private void finish(String what) {
        for (int attempt = 1; ; attempt++) {
            try {
                long begun = System.nanoTime();
                DeployReport report = deployOnce();
                if (report.isComplete()) {
                    if (attempt == 1) {
                        usualMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
                    }
                    return;
                }
                assertThat(attempt).as("%s: %s", what, report).isLessThan(10);
                awaitServers();
            } catch (ShardflakeException e) {
                if (attempt == 10) {
                    throw new AssertionError(what, e);
                }
                awaitServers();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** One command waits for another, but not forever; and a server may be starting. */
    private static void repeat(Runnable step) {
        for (int attempt = 1; ; attempt++) {
            try {
                step.run();
                return;
            } catch (ShardflakeException e) {
                if (attempt == 20) {
                    throw e;
                }
                awaitServers();
            }
        }
    }

    private static void awaitServers() {
        try {
            TimeUnit.SECONDS.sleep(1); // A server is starting, or its subscriptions are.
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void assertRefused(String sql) throws Exception {
        add(List.of(sql));
        assertThatThrownBy(this::deployOnce)
                .as(sql)
                .isInstanceOf(ShardflakeException.class)
                .hasMessageContaining("No shard was changed");
        assertAlike(sql);
    }

    /** Ends a deployment early, by killing its command or crashing a server. */
    private interface Interruption extends Runnable {}

    private Interruption interruption(Victim victim) {
        interruptions++;
        long millis = random.nextInt(100) * Math.max(500, usualMillis) / 100;
        int server = random.nextInt(3);
        return victim == Victim.COMMAND ? () -> kill(millis) : () -> crashWhileDeploying(server, millis);
    }

    private void kill(long millis) {
        try {
            Process process = FollowedDeployments.start(shards, DeployProcess.class, changelog.toString());
            try {
                assertThat(process.inputReader().readLine()).isEqualTo("begun");
                boolean ended = process.waitFor(millis, TimeUnit.MILLISECONDS);
                System.out.println(ended ? "The command had ended" : "The command was killed");
            } finally {
                process.destroyForcibly().waitFor();
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private void crashWhileDeploying(int number, long millis) {
        PostgresServer server = postgres.database(number).server();
        CompletableFuture<Void> running = CompletableFuture.runAsync(() -> {
            try {
                deployOnce();
                System.out.println("The deployment had ended");
            } catch (ShardflakeException e) {
                System.out.println("The deployment ended: " + e.getMessage());
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        try {
            TimeUnit.MILLISECONDS.sleep(millis);
            server.crash();
            server.start();
            running.get(2, TimeUnit.MINUTES);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private void assertAlike(String sql) throws SQLException {
        for (int shard : MOVING.stream().toArray()) {
            assertThat(facts("db2", shard)).as(sql).containsExactlyElementsOf(facts("db1", shard));
        }
        assertThat(facts("db1", 1)).as(sql).containsExactlyElementsOf(facts("db1", 0));
    }

    private List<String> facts(String server, int shard) throws SQLException {
        return FollowedDeployments.facts(shards, server, shard);
    }
}
