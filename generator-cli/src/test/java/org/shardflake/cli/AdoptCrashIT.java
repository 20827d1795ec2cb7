/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Poll;
import org.shardflake.router.ShardRouter;

/**
 * Commands of an adoption, the old database and servers are killed while applications write. The same command, run again, recovers. Shards 0 to 3 are
 * on db1, 4 to 7 on db2. The catalog has a server of its own.
 */
@Tag("full")
class AdoptCrashIT {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(4);

    private static final int OLD = 2;
    private static final int CATALOG = 3;
    private static final int ROUNDS = Integer.getInteger("adopt.crashes", 14);

    private final CliInstallation installation = new CliInstallation(postgres, CATALOG);
    private final AtomicInteger killed = new AtomicInteger();
    private final AtomicInteger repeated = new AtomicInteger();

    @TempDir
    private Path directory;

    private String plan = "";

    @BeforeEach
    void begin() throws SQLException, IOException {
        AdoptSlicesTest.begin(postgres, installation, directory);
        plan = "--plan=" + AdoptSlicesTest.plan(directory);
    }

    /** The process that is killed while a command runs: the command, or a server, by its number. */
    private enum Victim {
        DB1(0),
        DB2(1),
        OLD_DATABASE(OLD),
        CATALOG(AdoptCrashIT.CATALOG),
        COMMAND(-1);

        private final int server;

        Victim(int server) {
            this.server = server;
        }
    }

    @Test
    @Timeout(value = 30, unit = TimeUnit.MINUTES)
    void theSameCommandRecoversWhateverIsKilled() throws Exception {
        long seed = Long.getLong("tests.seed", new Random().nextLong());
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        again("run");
        again("cutover", "--percent=0"); // from here on writers of the old database respect the fence
        try (ShardRouter router = router();
                OrderWriters writers = new OrderWriters(router, random)) {
            writers.awaitMore(50);
            for (int round = 0; round < ROUNDS; round++) {
                Victim victim = Victim.values()[(round + random.nextInt(3)) % 5];
                String[] command = command(round, random);
                kill(victim, command, random);
                again(command);
                writers.awaitMore(20);
            }
            again("run");
            again("cutover", "--shards=1,4");
            kill(Victim.DB1, command(3, random), random);
            again("reverse", "--percent=100");
            writers.stop();
            again("run");
            again("verify");
            writers.check(ShardSet.of(), installation::query);
            writers.start();
            writers.awaitMore(20);
            kill(Victim.values()[random.nextInt(5)], new String[] {"cutover", "--percent=100"}, random);
            complete();
            writers.awaitMore(20);
            writers.stop();
            writers.check(ShardSet.range(0, 7), installation::query);
            System.out.printf(
                    "seed %s: %s, %s of %s kills hit a running command, %s commands were repeated%n",
                    seed, writers, killed, ROUNDS + 2, repeated);
        }
        assertThat(killed).hasPositiveValue();
    }

    /** Orders change their shards, go and come back while nothing follows, and the old database crashes. The command that catches up is killed. */
    @Test
    @Timeout(value = 10, unit = TimeUnit.MINUTES)
    void aFollowerThatWasStoppedForLongCatchesUp() throws Exception {
        again("run");
        PostgresServer old = postgres.database(OLD).server();
        for (int part = 0; part < 2; part++) {
            installation.execute(OLD, """
                    INSERT INTO shop.orders SELECT %1$s + n, n %% 40 + 1, 'late ' || %1$s + n FROM generate_series(1, 5000) n;
                    INSERT INTO shop.item SELECT %1$s + n, 1, 'late' FROM generate_series(1, 5000) n;
                    UPDATE shop.orders SET user_id = user_id %% 40 + 1 WHERE id %% 3 = 0;
                    DELETE FROM shop.orders WHERE id >= %1$s AND id %% 7 = 0;
                    UPDATE shop.users SET id = id + 1000 WHERE id < 4;
                    UPDATE shop.users SET id = id - 1000 WHERE id > 1000;
                    """.formatted(OrderWriters.FIRST * (part + 1)));
            old.kill();
            old.start();
        }
        kill(Victim.COMMAND, new String[] {"run"}, new Random());
        again("run");
        again("verify");
        assertThat(DatabaseAdopterTest.found(installation)).isEqualTo(DatabaseAdopterTest.wanted(installation));
    }

    /** The table whose lock a run that puts triggers back waits for, and is killed. */
    private enum KilledAt {
        FIRST_TABLE("shop.orders"),
        ANOTHER_TABLE("shop.item"),
        COPYING_AGAIN("shard_0001.orders");

        private final String table;

        KilledAt(String table) {
            this.table = table;
        }
    }

    /** Triggers of two tables are disabled and dropped while rows are written, and each run that puts them back is killed. */
    @Test
    @Timeout(value = 10, unit = TimeUnit.MINUTES)
    void aRepairThatIsKilledIsCompleted() throws Exception {
        again("run");
        int first = OrderWriters.FIRST;
        for (KilledAt at : KilledAt.values()) {
            first += 1000;
            installation.execute(OLD, """
                    DROP TRIGGER shardflake_adopt_note ON shop.orders;
                    ALTER TABLE shop.item DISABLE TRIGGER shardflake_adopt_note;
                    INSERT INTO shop.orders SELECT %1$s + n, n %% 40 + 1, 'unseen ' || %1$s + n FROM generate_series(1, 200) n;
                    INSERT INTO shop.item SELECT %1$s + n, 1, 'unseen' FROM generate_series(1, 200) n;
                    UPDATE shop.orders SET user_id = user_id %% 40 + 1 WHERE id %% 3 = 0;
                    UPDATE shop.item SET text = '%2$s' WHERE order_id %% 5 = 0;
                    DELETE FROM shop.orders WHERE id >= %1$s - 500 AND id %% 7 = 0;
                    """.formatted(first, at));
            killAt(at);
            installation.execute(
                    OLD, "UPDATE shop.orders SET user_id = user_id % 40 + 1, note = '" + at + "' WHERE id % 4 = 0");
            again("run");
            again("verify");
            assertThat(DatabaseAdopterTest.found(installation))
                    .as("killed at %s", at)
                    .isEqualTo(DatabaseAdopterTest.wanted(installation));
        }
    }

    private void killAt(KilledAt at) throws Exception {
        int server = at == KilledAt.COPYING_AGAIN ? 0 : OLD;
        try (Connection inTheWay = postgres.database(server).connect()) {
            inTheWay.setAutoCommit(false);
            // Readers pass, and writers of the old tables.
            String mode = server == OLD ? "ROW EXCLUSIVE" : "SHARE";
            assertThat(AdoptSlicesTest.outcome(inTheWay, "LOCK TABLE %s IN %s MODE".formatted(at.table, mode)))
                    .isEqualTo("ok");
            Process process = AdoptSlicesTest.start(installation, directory.resolve("command.log"), whole("run"));
            await(() -> !process.isAlive(), server, """
                    SELECT EXISTS (SELECT FROM pg_locks WHERE relation = '%s'::regclass AND NOT granted)
                    """.formatted(at.table));
            assertThat(process.isAlive()).isTrue();
            assertThat(process.destroyForcibly().waitFor(1, TimeUnit.MINUTES)).isTrue();
        }
    }

    private static ShardRouter router() {
        return ShardRouter.builder()
                .catalog(postgres.database(CATALOG).uri())
                .oldDatabase(postgres.database(OLD).uri(), "shop")
                .build();
    }

    /** Shard 7 stays until the end, since the adoption ends when all have left. */
    private static String[] command(int round, Random random) {
        String some = "--shards=%s,%s,%s".formatted(random.nextInt(3), 3 + random.nextInt(2), 5 + random.nextInt(2));
        return switch (round % 7) {
            case 0, 5 -> new String[] {"run"};
            case 1 -> new String[] {"cutover", "--percent=" + 25 * (1 + random.nextInt(3))};
            case 2 -> new String[] {"rehearse", some};
            case 3 -> new String[] {"reverse", some};
            case 4 -> new String[] {"cutover", some};
            default -> new String[] {"reverse", "--percent=" + 25 * (1 + random.nextInt(4))};
        };
    }

    private String[] whole(String... command) {
        List<String> whole = new ArrayList<>(List.of("adopt", command[0], plan, "--from=" + installation.url(OLD)));
        whole.addAll(List.of(command).subList(1, command.length));
        if (!command[0].equals("verify")) {
            whole.add("--yes");
        }
        return whole.toArray(String[]::new);
    }

    /** Begins a command, kills the victim at a random moment of it, and waits until the command has ended and the server is back. */
    private void kill(Victim victim, String[] command, Random random) throws Exception {
        long moment = TimeUnit.MILLISECONDS.toNanos(random.nextInt(600));
        System.out.printf("kill %s in %s after %s ms%n", victim, String.join(" ", command), moment / 1_000_000);
        if (victim == Victim.COMMAND) {
            Process process = AdoptSlicesTest.start(installation, directory.resolve("command.log"), whole(command));
            awaitSession(() -> !process.isAlive());
            LockSupport.parkNanos(moment);
            killed.addAndGet(process.isAlive() ? 1 : 0);
            assertThat(process.destroyForcibly().waitFor(1, TimeUnit.MINUTES)).isTrue();
            return;
        }
        CompletableFuture<Cli.Result> running =
                CompletableFuture.supplyAsync(() -> installation.launch(whole(command)));
        awaitSession(running::isDone);
        LockSupport.parkNanos(moment);
        killed.addAndGet(running.isDone() ? 0 : 1);
        PostgresServer server = postgres.database(victim.server).server();
        server.kill();
        if (random.nextBoolean()) {
            running.get(2, TimeUnit.MINUTES); // it fails, and does not wait for a server
        }
        server.start();
        running.get(2, TimeUnit.MINUTES);
    }

    private void awaitSession(Poll.Condition hasEnded) throws SQLException {
        await(
                hasEnded,
                OLD,
                "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'shardflake adopt' AND datname = current_database())");
    }

    private void await(Poll.Condition hasEnded, int server, String condition) throws SQLException {
        boolean isSo = Poll.everyMillis(5, Duration.ofMinutes(1))
                .until(() -> hasEnded.holds()
                        || installation.query(server, condition).equals("t"));
        assertThat(isSo).as(condition).isTrue();
    }

    /** Runs a command until it succeeds. Sessions of a command that was killed may live for a moment. */
    private void again(String... command) {
        assertThat(succeeds(command).exitCode()).isZero();
    }

    /** A cutover that was killed may have finished the adoption. */
    private void complete() {
        Cli.Result last = succeeds("cutover", "--percent=100");
        assertThat(last.exitCode() == 0 || last.err().contains("the adoption is finished"))
                .as(last.toString())
                .isTrue();
    }

    private Cli.Result succeeds(String... command) {
        Cli.Result result = installation.launch(whole(command));
        for (int tries = 1; result.exitCode() != 0 && tries < 5; tries++) {
            System.out.printf("again: %s: %s%n", String.join(" ", command), result.err());
            assertThat(result.exitCode()).as(result.toString()).isNotEqualTo(ExitCodes.VERIFICATION);
            repeated.incrementAndGet();
            result = installation.launch(whole(command));
        }
        return result;
    }
}
