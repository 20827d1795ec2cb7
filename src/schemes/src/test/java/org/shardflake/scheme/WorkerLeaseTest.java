/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.shardflake.scheme.TestDatabases.execute;
import static org.shardflake.scheme.TestDatabases.query;
import static org.shardflake.scheme.TestDatabases.showTime;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;

/** Claims, with a clock in the database and one in the holder that the tests set. */
class WorkerLeaseTest {

    private static final String START = "2026-11-21 10:00:00Z";
    private static final long NOW = Instant.parse("2026-11-21T10:00:00Z").toEpochMilli();

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1).prepare(TestDatabases::makeTestClock);

    private final StepClock clock = new StepClock(NOW);
    private GeneratorSettings settings;
    private TestDatabase database;

    @BeforeEach
    void begin() throws SQLException {
        database = postgres.database(0);
        execute(database, "DROP SCHEMA IF EXISTS shardflake_scheme CASCADE");
        showTime(database, START);
        settings = GeneratorSettings.DEFAULT
                .withClock(clock)
                .withLeaseTime(Duration.ofMinutes(10))
                .withDataSources(TestDatabases.withTestClock(database));
    }

    private WorkerLease claim(long first, long last) throws SQLException {
        return WorkerLease.claim("snowflake", settings, first, last);
    }

    /** Both clocks, since a holder lives on the same time as the server, more or less. */
    private void showBoth(String time) throws SQLException {
        showTime(database, time);
        clock.show(Instant.parse(time.replace(' ', 'T')).toEpochMilli());
    }

    @Test
    void competingGeneratorsGetDifferentWorkers() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(16);
        try {
            List<Callable<Long>> claims = new ArrayList<>();
            for (int i = 0; i < 64; i++) {
                claims.add(() -> claim(0, 63).id());
            }
            List<Long> workers = new ArrayList<>();
            for (Future<Long> claim : threads.invokeAll(claims)) {
                workers.add(claim.get());
            }

            assertThat(workers).doesNotHaveDuplicates().hasSize(64).allMatch(worker -> worker >= 0 && worker <= 63);
        } finally {
            threads.shutdown();
        }
        assertThatThrownBy(() -> claim(0, 63))
                .isInstanceOfSatisfying(
                        NoFreeWorkerException.class, e -> assertThat(e.scheme()).isEqualTo("snowflake"))
                .hasMessage("all workers 0..63 of snowflake are claimed; wait until a claim ends, or end one: see"
                        + " shardflake_scheme.lease");
    }

    @Test
    void anotherProcessHoldsItsWorkerUntilItGivesItBack() throws Exception {
        Process other = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        ClaimingProcess.class.getName(),
                        database.uri())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        GeneratorSettings real = settings.withDataSources(TestDatabases.dataSource(database))
                .withClock(GeneratorSettings.DEFAULT.clock());
        try (BufferedReader output =
                new BufferedReader(new InputStreamReader(other.getInputStream(), StandardCharsets.UTF_8))) {
            assertThat(output.readLine()).isEqualTo("claimed 7");
            assertThatThrownBy(() -> WorkerLease.claim("snowflake", real, 7, 7))
                    .isInstanceOf(NoFreeWorkerException.class)
                    .hasMessage("worker 7 of snowflake is claimed; wait until its claim ends, or take another");

            other.getOutputStream().close();
            assertThat(other.waitFor()).isZero();
        } finally {
            other.destroy();
        }
        try (WorkerLease lease = WorkerLease.claim("snowflake", real, 7, 7)) {
            assertThat(lease.launch()).isEqualTo(2);
        }
    }

    /** Claims worker 7 until its standard input ends. */
    static final class ClaimingProcess {
        public static void main(String[] args) throws Exception {
            GeneratorSettings settings = GeneratorSettings.DEFAULT.withDataSources(
                    org.shardflake.server.ServerUrl.parse(args[0]).dataSource());
            try (WorkerLease lease = WorkerLease.claim("snowflake", settings, 7, 7)) {
                System.out.println("claimed " + lease.id());
                while (System.in.read() >= 0) {}
            }
        }
    }

    @Test
    void schemesClaimForThemselves() throws SQLException {
        assertThat(claim(7, 7).id()).isEqualTo(7);
        assertThat(WorkerLease.claim("traceid", settings, 7, 7).id()).isEqualTo(7);
    }

    @Test
    void expiredClaimIsFreeAndItsHolderStops() throws SQLException {
        WorkerLease first = claim(7, 7);
        showTime(database, "2026-11-21 10:10:00Z");
        WorkerLease second = claim(7, 7);
        clock.show(NOW + 600_000);

        assertThatThrownBy(first::check)
                .isInstanceOfSatisfying(LeaseLostException.class, e -> {
                    assertThat(e.scheme()).isEqualTo("snowflake");
                    assertThat(e.worker()).isEqualTo(7);
                })
                .hasMessage(
                        "worker 7 of snowflake is no longer ours: the claim ended after PT10M without renewal; make a new"
                                + " generator");
        assertThat(second.launch()).isEqualTo(2);
    }

    @Test
    void holderStopsWhateverTheTimeOfDay() throws Exception {
        settings = settings.withLeaseTime(Duration.ofMillis(100));
        WorkerLease lease = claim(7, 7);
        Thread.sleep(110); // the time of day stands still meanwhile

        assertThatThrownBy(lease::check).hasMessageContaining("the claim ended after PT0.1S without renewal");
    }

    @Test
    void generatorRefusesAfterItsClaimHasRunOut() throws SQLException {
        try (IdGenerator generator = Schemes.named("snowflake").generator(settings)) {
            generator.next();
            clock.show(NOW + 600_000);

            assertThatThrownBy(generator::next).isInstanceOf(LeaseLostException.class);
            assertThatThrownBy(generator::next).isInstanceOf(LeaseLostException.class);
        }
    }

    @Test
    void renewsAtHalfTime() throws SQLException {
        WorkerLease lease = claim(7, 7);
        showBoth("2026-11-21 10:04:59Z");
        lease.check();
        assertThat(endOfClaim()).isEqualTo("10:10:00");

        showBoth("2026-11-21 10:05:00Z");
        lease.check();
        assertThat(endOfClaim()).isEqualTo("10:15:00");

        showBoth("2026-11-21 10:10:00Z");
        lease.check();
        assertThat(endOfClaim()).isEqualTo("10:20:00");
    }

    private String endOfClaim() throws SQLException {
        return query(
                database, "SELECT to_char(expires_at AT TIME ZONE 'UTC', 'HH24:MI:SS') FROM shardflake_scheme.lease");
    }

    @Test
    void renewalFindsThatAnotherHasTheWorker() throws SQLException {
        WorkerLease first = claim(7, 7);
        showTime(database, "2026-11-21 10:10:00Z");
        claim(7, 7);
        clock.show(NOW + 300_000); // the holder's clock is slow

        assertThatThrownBy(first::check).hasMessageContaining("its claim is over on the server");
        assertThatThrownBy(first::check).isInstanceOf(LeaseLostException.class);
        first.close();
        assertThat(endOfClaim()).isEqualTo("10:20:00"); // what it has lost it does not give back
    }

    @Test
    void livesThroughAServerThatIsDownForAWhile() throws SQLException {
        WorkerLease lease = claim(7, 7);
        execute(database, "ALTER TABLE shardflake_scheme.lease RENAME TO away");
        showBoth("2026-11-21 10:06:00Z");
        lease.check();
        execute(database, "ALTER TABLE shardflake_scheme.away RENAME TO lease");
        showBoth("2026-11-21 10:07:00Z");
        lease.check();
        assertThat(endOfClaim()).isEqualTo("10:10:00"); // it waits before it tries again

        showBoth("2026-11-21 10:07:15Z");
        lease.check();
        assertThat(endOfClaim()).isEqualTo("10:17:15");
    }

    @Test
    void givesBackWhenClosed() throws SQLException {
        WorkerLease lease = claim(7, 7);
        lease.close();
        lease.close();

        assertThatThrownBy(lease::check).hasMessageContaining("it was given back");
        assertThat(claim(7, 7).launch()).isEqualTo(2);
    }

    @Test
    void takesWhatWasFreeLongest() throws SQLException {
        WorkerLease zero = claim(0, 2);
        WorkerLease one = claim(0, 2);
        assertThat(List.of(zero.id(), one.id())).containsExactly(0L, 1L);
        one.close();
        showTime(database, "2026-11-21 10:00:01Z");
        zero.close();

        assertThat(claim(0, 2).id()).isEqualTo(2); // never used
        assertThat(claim(0, 2).id()).isEqualTo(1);
        assertThat(claim(0, 2).id()).isZero();
    }

    @Test
    void decimalIdCountsItsLaunches() throws SQLException {
        Scheme scheme = Schemes.named("decimalid");
        try (IdGenerator first = scheme.generator(settings.withWorker(92))) {
            assertThat(first.batch(2)).containsExactly("10009200001", "20009200001");
        }
        try (IdGenerator second = scheme.generator(settings.withWorker(92))) {
            assertThat(second.next()).isEqualTo("10009200002");
        }
        assertThatThrownBy(() -> scheme.generator(settings.withWorker(100_000)))
                .hasMessage("worker 100000 is out of range 0..99999");
        assertThatThrownBy(() -> scheme.generator(GeneratorSettings.DEFAULT.withWorker(92)))
                .hasMessage("scheme decimalid needs a server");
    }

    @Test
    void decimalIdRunsOutOfLaunches() throws SQLException {
        claim(0, 0); // makes the table
        execute(database, "INSERT INTO shardflake_scheme.lease VALUES ('decimalid', 92, 99999, '', '2026-01-01Z')");

        assertThatThrownBy(() -> Schemes.named("decimalid").generator(settings.withWorker(92)))
                .hasMessage("generator 92 was launched 99999 times, and ids have room for 99999; take another");
    }

    @Test
    void uniqueIdsClustersClaimForThemselves() throws SQLException {
        Scheme scheme = Schemes.named("uniqueid");
        try (IdGenerator one = scheme.generator(settings);
                IdGenerator other = scheme.generator(settings.withCluster(3))) {
            assertThat(scheme.decode(one.next()).fields())
                    .containsEntry("generator", 0)
                    .containsEntry("cluster", 0);
            assertThat(scheme.decode(other.next()).fields())
                    .containsEntry("generator", 0)
                    .containsEntry("cluster", 3);
        }
    }

    @Test
    void refusesAClaimTooShortToUse() {
        assertThatThrownBy(() -> settings.withLeaseTime(Duration.ofMillis(99)))
                .hasMessage("lease time PT0.099S is less than PT0.1S");
    }
}
