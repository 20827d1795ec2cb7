/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.deploy.DeployReport;
import org.shardflake.install.Installation;
import org.shardflake.router.ShardRouter;

/**
 * Each kind of statement, deployed at some phase of a move from its copying to its end, by commands and on servers that are killed: shard and copy stay alike, the application
 * sees no error of it, and what cannot be done changes nothing.
 */
@Tag("full")
class DeploymentMatrixIT {

    private static final String OLD = """
            --changeset ann:old
            CREATE TABLE old (id bigint PRIMARY KEY, place text NOT NULL, code text NOT NULL);
            CREATE INDEX old_code ON old (code);
            """;

    private static final ShardSet MOVING = ShardSet.of(1, 2);

    /** What builds on each other comes in this order, with statements of other chains in between. */
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
                    "ALTER TABLE entry DROP COLUMN mood",
                    "DROP TYPE mood"),
            List.of(
                    "CREATE DOMAIN score AS integer DEFAULT 3",
                    "ALTER TABLE entry ADD COLUMN score score",
                    "UPDATE entry SET score = 5 WHERE amount > 500",
                    "ALTER TABLE entry DROP COLUMN score",
                    "DROP DOMAIN score"),
            List.of(
                    "CREATE TYPE pair AS (one integer, two text)",
                    "ALTER TABLE tag ADD COLUMN pair pair",
                    "UPDATE tag SET pair = ROW (1, 'x')::pair",
                    "ALTER TABLE tag DROP COLUMN pair",
                    "DROP TYPE pair"),
            List.of(
                    "CREATE INDEX i7 ON account (balance)",
                    "ALTER INDEX i7 RENAME TO i7b",
                    "COMMENT ON INDEX i7b IS 'By balance'",
                    "DROP INDEX i7b"),
            List.of("CREATE UNIQUE INDEX i8 ON entry (id, amount)", "DROP INDEX i8"),
            List.of("CREATE INDEX CONCURRENTLY i9 ON entry (amount)", "DROP INDEX CONCURRENTLY i9"),
            List.of("CREATE UNIQUE INDEX CONCURRENTLY i10 ON entry (key, amount)", "DROP INDEX i10"),
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
                    "ALTER TABLE account ALTER COLUMN note RESET (n_distinct)"),
            List.of("ALTER TABLE account SET (fillfactor = 90)", "ALTER TABLE account RESET (fillfactor)"),
            List.of(
                    "CREATE VIEW rich AS SELECT id FROM account WHERE balance > 10",
                    "CREATE OR REPLACE VIEW rich AS SELECT id, uid FROM account WHERE balance > 100",
                    "DROP VIEW rich"),
            List.of(
                    "CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.note := NEW.note; RETURN NEW; END'",
                    "CREATE TRIGGER account_stamp BEFORE INSERT ON account FOR EACH ROW EXECUTE FUNCTION stamp()",
                    "CREATE OR REPLACE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
                    "ALTER FUNCTION stamp() COST 10",
                    "DROP TRIGGER account_stamp ON account",
                    "DROP FUNCTION stamp()"),
            List.of("CREATE PROCEDURE p20() LANGUAGE sql AS 'SELECT 1'", "DROP PROCEDURE p20()"),
            List.of(
                    "CREATE POLICY own ON account USING (uid <> 77)",
                    "ALTER POLICY own ON account USING (uid <> 78)",
                    "DROP POLICY own ON account"),
            List.of("COMMENT ON TABLE account IS 'Accounts'", "COMMENT ON TABLE account IS NULL"),
            List.of("GRANT SELECT ON account TO PUBLIC", "REVOKE SELECT ON account FROM PUBLIC"),
            List.of(
                    "CREATE STATISTICS s24 ON uid, balance FROM account",
                    "ALTER STATISTICS s24 SET STATISTICS 100",
                    "DROP STATISTICS s24"),
            List.of("CREATE SEQUENCE counter", "DROP SEQUENCE counter"),
            List.of(
                    "CREATE TABLE e26 (id bigint PRIMARY KEY, uid bigint NOT NULL)",
                    "INSERT INTO e26 (id, uid) SELECT id, uid FROM account",
                    "ALTER TABLE e26 ADD COLUMN place text",
                    "DROP TABLE e26"),
            List.of(
                    "CREATE TABLE s27 AS SELECT id, balance, random() AS luck FROM account; ALTER TABLE s27 ADD PRIMARY KEY (id)",
                    "DROP TABLE s27"),
            List.of(
                    "INSERT INTO old (place, code) VALUES ('there', 'd'), ('there', 'e')",
                    "CREATE TABLE k28 (LIKE old INCLUDING ALL); INSERT INTO k28 (id, place, code) SELECT id, place, 'new' FROM old",
                    "MERGE INTO old USING (VALUES ('d')) v (code) ON old.code = v.code WHEN MATCHED THEN UPDATE SET place = 'merged'",
                    "DELETE FROM old WHERE code = 'e'",
                    "ALTER TABLE old ALTER COLUMN place DROP NOT NULL",
                    "ALTER TABLE old DROP COLUMN place",
                    "DROP TABLE k28",
                    "DROP INDEX old_code",
                    "DROP TABLE old"));

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

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    /** How many of the chains a run takes. All of them take ten minutes. */
    private static final int CHAINS_A_RUN = Integer.getInteger("matrix.chains", 8);

    private final long seed = Long.getLong("matrix.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private AccountShards shards;
    private Mover mover;
    private Installation installation;
    private Path changelog;
    private int changeSets;

    @BeforeEach
    void create() throws Exception {
        System.out.printf("-Dmatrix.seed=%s -Dmatrix.chains=%s%n", seed, CHAINS_A_RUN);
        shards = AccountShards.create(postgres, 2, 4, directory, AccountShards.CHANGELOG + OLD);
        changelog = directory.resolve("accounts.sql");
        mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        installation = new Installation(shards.catalogUrl(), server -> shards.url(server.name()));
    }

    @Test
    void commandsAreKilled() throws Exception {
        Move move = mover.record("db1", "db2", MOVING, "");
        List<String> statements = shuffled();
        int last = statements.size() - 1;
        try (ShardRouter router = shards.router().build();
                AccountLoad load = AccountLoad.start(router, ShardSet.range(0, 3), 2, 5)) {
            load.awaitMore(50);
            whileDeploying(statements.get(0), () -> mover.follow(move.id()));
            assertAlike(statements.get(0));
            walk(statements.subList(1, last), true, move.id(), load, sql -> {
                if (random.nextInt(4) == 0) {
                    kill();
                    if (random.nextBoolean()) {
                        turn(move.id(), 1);
                    }
                }
                finish(sql);
            });
            end(move.id(), statements.get(last));
            load.close();
            assertThat(load.failures()).isEmpty();
            assertThat(load.compare(shards)).isEmpty();
        }
    }

    /** Something that a move does while a changeset is deployed, by a command that is killed and by the next. */
    private void whileDeploying(String sql, Runnable step) throws Exception {
        add(Files.readString(changelog), sql);
        CompletableFuture<Void> deploying = CompletableFuture.runAsync(() -> {
            try {
                kill();
                finish(sql);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        for (int attempt = 1; ; attempt++) {
            try {
                step.run();
                break;
            } catch (ShardflakeException e) { // One waits for the other, but not forever.
                assertThat(attempt).as("%s: %s", sql, e).isLessThan(10);
            }
        }
        deploying.get(5, TimeUnit.MINUTES);
    }

    @Test
    void serversAreKilled() throws Exception {
        Move move = mover.follow(mover.record("db1", "db2", MOVING, "").id());
        try (ShardRouter router = shards.router().build();
                AccountLoad load = AccountLoad.startWithOutages(router, ShardSet.range(0, 3), 2, 5)) {
            load.awaitMore(50);
            List<String> statements = shuffled();
            walk(statements.subList(0, 14), false, move.id(), load, sql -> {
                if (random.nextInt(4) == 0) {
                    crashWhileDeploying();
                }
                finish(sql);
            });
            end(move.id(), statements.get(14));
            load.close();
            assertThat(load.failures()).isEmpty();
            assertThat(load.compare(shards)).isEmpty();
        }
    }

    private interface Step {
        void run(String sql) throws Exception;
    }

    /** Deploys statement by statement. The shards change sides four times on the way. */
    private void walk(List<String> statements, boolean refusals, long move, AccountLoad load, Step step)
            throws Exception {
        List<String> all = new ArrayList<>(REFUSED);
        Collections.shuffle(all, random);
        Deque<String> refused = new ArrayDeque<>(all);
        int turns = 0;
        for (int i = 0; i < statements.size(); i++) {
            if (i * 5 / statements.size() > turns) {
                assertThat(mover.verify(move, MOVING)).isEmpty();
                turn(move, turns++ % 2 == 0 ? 1 : 2);
                load.awaitMore(20);
            }
            String before = Files.readString(changelog);
            String sql = statements.get(i);
            add(before, sql);
            step.run(sql);
            assertAlike(sql);
            if (refusals && !refused.isEmpty() && random.nextInt(3) == 0) {
                before = Files.readString(changelog);
                assertRefused(refused.remove());
                Files.writeString(changelog, before);
            }
        }
        assertThat(mover.verify(move, MOVING)).isEmpty();
    }

    /** The statements of some chains, those of each in their order. */
    private List<String> shuffled() {
        List<List<String>> all = new ArrayList<>(CHAINS);
        Collections.shuffle(all, random);
        List<List<String>> chains = all.subList(0, CHAINS_A_RUN);
        List<Integer> order = new ArrayList<>();
        List<Deque<String>> rest = new ArrayList<>();
        for (int i = 0; i < chains.size(); i++) {
            order.addAll(Collections.nCopies(chains.get(i).size(), i));
            rest.add(new ArrayDeque<>(chains.get(i)));
        }
        Collections.shuffle(order, random);
        return order.stream().map(i -> rest.get(i).remove()).toList();
    }

    /** Cuts a shard over, or back. A deployment that is half done may keep it where it is. */
    private void turn(long move, int shard) {
        try {
            if (onTarget(move, shard)) {
                mover.reverse(move, ShardSet.of(shard));
            } else {
                mover.cutOver(move, ShardSet.of(shard));
            }
        } catch (ShardflakeException e) {
            assertThat(e).hasMessageContaining("has another schema on the");
        }
    }

    private boolean onTarget(long move, int shard) {
        Move now = mover.move(move);
        return now.shard(shard).server().equals(now.target());
    }

    private void end(long move, String sql) throws Exception {
        if (random.nextBoolean()) {
            mover.cutOver(
                    move,
                    ShardSet.of(MOVING.stream()
                            .filter(shard -> !onTarget(move, shard))
                            .toArray()));
            whileDeploying(sql, () -> mover.complete(move));
        } else {
            for (int shard : MOVING.stream().toArray()) {
                if (onTarget(move, shard)) {
                    turn(move, shard);
                }
            }
            whileDeploying(sql, () -> mover.cancel(move, Mover.End.BACK));
        }
        ShardMap map = shards.catalog().load();
        for (int shard : MOVING.stream().toArray()) {
            assertThat(facts(map.server(shard).name(), shard)).containsExactlyElementsOf(facts("db1", 0));
        }
        assertThat(shards.leftovers("db1")).isZero();
        assertThat(shards.leftovers("db2")).isZero();
    }

    private void add(String before, String sql) throws Exception {
        Files.writeString(
                changelog,
                before
                        + "\n--changeset ann:m%s splitStatements:true%s\n%s;\n"
                                .formatted(
                                        ++changeSets,
                                        sql.contains("CONCURRENTLY") ? " runInTransaction:false" : "",
                                        sql));
    }

    private DeployReport deployOnce() throws InterruptedException {
        return installation.deploy(changelog, FollowedDeployments.settings(directory, 50), done -> {});
    }

    /** The same command again, until what was interrupted is done. */
    private void finish(String sql) throws InterruptedException {
        for (int attempt = 1; ; attempt++) {
            try {
                DeployReport report = deployOnce();
                if (report.isComplete()) {
                    return;
                }
                assertThat(attempt).as("%s: %s", sql, report).isLessThan(10);
            } catch (ShardflakeException e) {
                if (attempt == 10) {
                    throw new AssertionError(sql, e);
                }
            }
            TimeUnit.SECONDS.sleep(1); // A server is starting, or its subscriptions are.
        }
    }

    private void assertRefused(String sql) throws Exception {
        add(Files.readString(changelog), sql);
        assertThatThrownBy(this::deployOnce)
                .as(sql)
                .isInstanceOf(ShardflakeException.class)
                .hasMessageContaining("No shard was changed");
        assertAlike(sql);
    }

    private void kill() throws Exception {
        Process process = FollowedDeployments.start(shards, DeployProcess.class, changelog.toString());
        assertThat(process.inputReader().readLine()).isEqualTo("begun");
        boolean ended = process.waitFor(300 + random.nextInt(1500), TimeUnit.MILLISECONDS);
        process.destroyForcibly().waitFor();
        System.out.println(ended ? "The command had ended" : "The command was killed");
    }

    private void crashWhileDeploying() throws Exception {
        PostgresServer server = postgres.database(random.nextInt(2)).server();
        CompletableFuture<Void> running = CompletableFuture.runAsync(() -> {
            try {
                deployOnce();
            } catch (ShardflakeException e) {
                System.out.println("The deployment ended: " + e.getMessage());
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        TimeUnit.MILLISECONDS.sleep(random.nextInt(800));
        server.crash();
        server.start();
        running.get(2, TimeUnit.MINUTES);
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
