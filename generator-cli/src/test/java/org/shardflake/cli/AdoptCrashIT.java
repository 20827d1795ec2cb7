/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardflakeException;
import org.shardflake.Sharding;
import org.shardflake.adoption.AdoptionPlanFile;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Poll;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.exception.CommitOutcomeUnknownException;

/**
 * Commands of an adoption, the old database and servers are killed while applications write. The same command, run again, recovers. Shards 0 to 3 are
 * on db1, whose server has the catalog too, 4 to 7 on db2.
 */
@Tag("full")
class AdoptCrashIT {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final int OLD = 2;
    private static final int FIRST = 1_000_000;
    private static final int ROUNDS = Integer.getInteger("adopt.crashes", 14);

    private final CliInstallation installation = new CliInstallation(postgres);
    private final AtomicInteger killed = new AtomicInteger();
    private final AtomicInteger repeated = new AtomicInteger();

    @TempDir
    private Path directory;

    private String plan = "";

    @BeforeEach
    void begin() throws SQLException, IOException {
        if (!postgres.restore("slices")) {
            AdoptSlicesTest.install(installation, directory);
            postgres.save("slices");
        }
        Path file = Files.writeString(
                directory.resolve("adoption.yaml"), AdoptionPlanFile.format(DatabaseAdopterTest.plan("id")));
        plan = "--plan=" + file;
    }

    /** The process that is killed while a command runs: the command, or a server, by its number. */
    private enum Victim {
        DB1_AND_CATALOG(0),
        DB2(1),
        OLD_DATABASE(OLD),
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
                Writers writers = new Writers(router, random)) {
            writers.awaitMore(50);
            for (int round = 0; round < ROUNDS; round++) {
                Victim victim = Victim.values()[(round + random.nextInt(3)) % 4];
                String[] command = command(round, random);
                kill(victim, command, random);
                again(command);
                writers.awaitMore(20);
            }
            again("run");
            again("cutover", "--shards=1,4");
            kill(Victim.DB1_AND_CATALOG, command(3, random), random);
            again("reverse", "--percent=100");
            writers.stop();
            again("run");
            again("verify");
            writers.check(OLD);
            writers.start();
            writers.awaitMore(20);
            kill(Victim.values()[random.nextInt(4)], new String[] {"cutover", "--percent=100"}, random);
            complete();
            writers.awaitMore(20);
            writers.stop();
            writers.check(0);
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
                    """.formatted(FIRST * (part + 1)));
            old.crash();
            old.start();
        }
        kill(Victim.COMMAND, new String[] {"run"}, new Random());
        again("run");
        again("verify");
        assertThat(DatabaseAdopterTest.found(installation)).isEqualTo(DatabaseAdopterTest.wanted(installation));
    }

    private static ShardRouter router() {
        return ShardRouter.builder()
                .catalog(postgres.database(0).uri())
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
        server.crash();
        if (random.nextBoolean()) {
            running.get(2, TimeUnit.MINUTES); // it fails, and does not wait for a server
        }
        server.start();
        running.get(2, TimeUnit.MINUTES);
    }

    private void awaitSession(Poll.Condition hasEnded) throws SQLException {
        boolean isThere = Poll.everyMillis(5, Duration.ofMinutes(1))
                .until(() -> hasEnded.holds()
                        || installation
                                .query(
                                        OLD,
                                        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'shardflake adopt' AND datname = current_database())")
                                .equals("t"));
        assertThat(isThere).isTrue();
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

    /** The changes of an order that were acknowledged, and those that may have been done besides. */
    private record Known(int user, int least, int most) {}

    /** Applications that insert orders and count up their notes, and keep a journal of what was acknowledged. */
    private final class Writers implements AutoCloseable {

        private final ShardRouter router;
        private final List<Map<Integer, Known>> journals = new ArrayList<>();
        private final List<Random> randoms = new ArrayList<>();
        private final AtomicInteger acknowledged = new AtomicInteger();
        private final AtomicInteger unknown = new AtomicInteger();
        private final AtomicInteger failed = new AtomicInteger();
        private final ExecutorService threads = Executors.newCachedThreadPool();
        private final List<Future<?>> running = new ArrayList<>();
        private volatile String lastFailure = "";
        private AtomicBoolean stop = new AtomicBoolean();

        Writers(ShardRouter router, Random random) {
            this.router = router;
            for (int i = 0; i < 4; i++) {
                journals.add(new TreeMap<>());
                randoms.add(new Random(random.nextLong()));
            }
            start();
        }

        void start() {
            stop = new AtomicBoolean();
            AtomicBoolean its = stop;
            for (int i = 0; i < 4; i++) {
                int number = i;
                running.add(threads.submit(() -> {
                    while (!its.get()) {
                        AdoptSlicesTest.rest();
                        write(number, journals.get(number), randoms.get(number));
                    }
                }));
            }
        }

        void stop() throws Exception {
            stop.set(true);
            for (Future<?> one : running) {
                one.get(2, TimeUnit.MINUTES);
            }
            running.clear();
        }

        private void write(int number, Map<Integer, Known> journal, Random random) {
            int id = FIRST * (number + 1) + random.nextInt(random.nextBoolean() ? 40 : 2000);
            Known before = journal.getOrDefault(id, new Known(random.nextInt(1, 41), 0, 0));
            if (before.least() == 0 && before.most() > 0) {
                return; // its only write has an unknown outcome
            }
            String sql = before.most() == 0
                    ? "INSERT INTO ${shard.schema}.orders VALUES (%1$s, %2$s, 'code %1$s', '1')"
                    : "UPDATE ${shard.schema}.orders SET note = note::integer + 1 WHERE id = %1$s AND user_id = %2$s";
            try {
                router.write(before.user(), tx -> {
                    try (PreparedStatement statement =
                            tx.connection().prepareStatement(tx.sql(sql.formatted(id, before.user())))) {
                        assertThat(statement.executeUpdate()).isEqualTo(1);
                    }
                    return tx.schema();
                });
                journal.put(id, new Known(before.user(), before.least() + 1, before.most() + 1));
                acknowledged.incrementAndGet();
            } catch (ShardflakeException | SQLException e) {
                if (e instanceof CommitOutcomeUnknownException
                        || e.getCause() instanceof CommitOutcomeUnknownException) {
                    journal.put(id, new Known(before.user(), before.least(), before.most() + 1));
                    unknown.incrementAndGet();
                } else {
                    failed.incrementAndGet();
                    lastFailure = e.toString();
                }
            }
        }

        void awaitMore(int more) throws Exception {
            int wanted = acknowledged.get() + more;
            boolean isDone = Poll.everyMillis(10, Duration.ofMinutes(1))
                    .until(() ->
                            acknowledged.get() >= wanted || running.stream().anyMatch(Future::isDone));
            for (Future<?> one : running) {
                if (one.isDone()) {
                    one.get();
                }
            }
            assertThat(isDone).as("%s, last: %s", this, lastFailure).isTrue();
        }

        /** Compares the journals with the old tables, or with those of the shards. */
        void check(int place) throws SQLException {
            Map<Integer, Known> expected = new TreeMap<>();
            journals.forEach(expected::putAll);
            List<String> wrong = new ArrayList<>();
            Map<Integer, String> found = new TreeMap<>();
            for (String line : place == OLD ? rows(OLD, "shop", -1) : rowsOfShards()) {
                String[] parts = line.split(" ", -1);
                int id = Integer.parseInt(parts[1]);
                Known known = expected.get(id);
                int shard = Integer.parseInt(parts[0]);
                int count = Integer.parseInt(parts[3]);
                if (found.put(id, line) != null
                        || known == null
                        || known.user() != Integer.parseInt(parts[2])
                        || (shard >= 0 && shard != known.user() % 8)
                        || count < known.least()
                        || count > known.most()) {
                    wrong.add("%s, expected %s".formatted(line, known));
                }
            }
            expected.forEach((id, known) -> {
                if (known.least() > 0 && !found.containsKey(id)) {
                    wrong.add("order %s is lost, expected %s".formatted(id, known));
                }
            });
            assertThat(wrong).isEmpty();
        }

        private List<String> rowsOfShards() throws SQLException {
            List<String> rows = new ArrayList<>();
            for (int shard = 0; shard < 8; shard++) {
                rows.addAll(rows(shard / 4, Sharding.schema(shard), shard));
            }
            return rows;
        }

        private List<String> rows(int server, String schema, int shard) throws SQLException {
            String rows = installation.query(
                    server,
                    "SELECT string_agg('%s ' || id || ' ' || user_id || ' ' || note, ',' ORDER BY id) FROM %s.orders WHERE id >= %s"
                            .formatted(shard, schema, FIRST));
            return rows.equals("null") ? List.of() : List.of(rows.split(",", -1));
        }

        @Override
        public void close() {
            stop.set(true);
            threads.shutdown();
        }

        @Override
        public String toString() {
            return "%s writes acknowledged, %s unknown, %s failed".formatted(acknowledged, unknown, failed);
        }
    }
}
