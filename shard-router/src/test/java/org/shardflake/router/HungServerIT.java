/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.Sharding;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.exception.PoolExhaustedException;
import org.shardflake.router.exception.ServerUnavailableException;
import org.shardflake.router.exception.ShardSqlException;
import org.shardflake.sql.FunctionLibrary;

/** A server that does not answer: stopped, with its connections open. */
@Tag("full")
@Timeout(300)
class HungServerIT {

    private static final int SHARDS = 20;

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(2).prepareOnce("library", FunctionLibrary::deploy);

    private static PhotoShards shards;

    private final List<Long> stopped = new ArrayList<>();
    private ShardRouter router;

    @BeforeAll
    static void createShards() throws SQLException {
        shards = PhotoShards.create(postgres, 2, SHARDS);
    }

    @BeforeEach
    void start() throws SQLException {
        assumeThat(postgres.database(1).server().canRestart()).isTrue();
        for (int shard = 0; shard < SHARDS; shard++) {
            shards.execute(shard % 2, "DELETE FROM %s.photo".formatted(Sharding.schema(shard)));
        }
        router = shards.router()
                .map(shards.map())
                .connectionTimeout(Duration.ofSeconds(3)) // for those of the healthy server, too
                .statementTimeout(Duration.ofSeconds(3))
                .closeTimeout(Duration.ofSeconds(1))
                .build();
        for (int uid = 0; uid < SHARDS; uid++) {
            long user = uid;
            router.write(user, tx -> Photos.insert(tx, user, "before"));
        }
        // A session that begins while the server is being stopped could go on.
        await().atMost(Duration.ofMinutes(1))
                .until(() -> router.pools().stream().allMatch(pool -> pool.idle() == pool.size()));
    }

    @AfterEach
    void goOn() throws Exception {
        signal("CONT");
        router.close();
    }

    @Test
    void aHungServerFailsItsOwnShardsOnlyAndIsServedAgainWhenItAnswers() throws Exception {
        stopServer();
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Future<Long>> hung = new ArrayList<>();
        for (int i = 0; i < 15; i++) {
            hung.add(threads.submit(() -> router.read(7, tx -> Photos.count(tx, 7))));
        }
        for (int i = 0; i < 100; i++) {
            router.write(8, tx -> Photos.insert(tx, 8, "the other server"));
        }

        for (Future<Long> one : hung) {
            assertThatThrownBy(one::get)
                    .cause()
                    .isInstanceOfAny(
                            SQLException.class,
                            ServerUnavailableException.class,
                            PoolExhaustedException.class,
                            ShardSqlException.class);
        }
        signal("CONT");
        await().atMost(Duration.ofSeconds(100))
                .ignoreExceptions()
                .until(() -> router.<Long, SQLException>read(7, tx -> Photos.count(tx, 7)) == 1);
        threads.shutdownNow();
    }

    @Test
    void aScatterHasTheResultsOfTheOtherServers() throws Exception {
        stopServer();

        try (Stream<ShardResult<Long>> results = router.scatter(
                Scatter.allShards()
                        .parallelism(4)
                        .deadline(Duration.ofSeconds(60))
                        .collectFailures(),
                tx -> Photos.count(tx, tx.shard()))) {
            assertThat(results.filter(ShardResult.Value.class::isInstance).map(ShardResult::shard))
                    .containsExactlyInAnyOrderElementsOf(
                            IntStream.range(0, SHARDS / 2).mapToObj(i -> 2 * i).toList());
        }
    }

    @Test
    void aNewRouterDoesNotWaitForEver() throws Exception {
        stopServer();

        try (ShardRouter fresh = shards.router()
                .map(shards.map())
                .connectionTimeout(Duration.ofSeconds(3))
                .build()) {
            assertThatThrownBy(() -> fresh.read(7, tx -> Photos.count(tx, 7)))
                    .isInstanceOf(ServerUnavailableException.class);
            assertThat(fresh.<Long, SQLException>read(8, tx -> Photos.count(tx, 8)))
                    .isEqualTo(1);
        }
    }

    @Test
    void aStatementThatTakesTooLongIsEndedByTheServer() {
        assertThatThrownBy(() -> router.run(7, tx -> {
                    try (Statement statement = tx.connection().createStatement()) {
                        statement.execute("SELECT pg_sleep(200)");
                    }
                }))
                .hasMessageContaining("statement timeout");
    }

    private void stopServer() throws Exception {
        long postmaster = shards.number(1, "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::bigint");
        stopped.add(postmaster);
        signal("STOP"); // First, so that no session is begun after the others were counted.
        ProcessHandle.of(postmaster)
                .orElseThrow()
                .children()
                .map(ProcessHandle::pid)
                .forEach(stopped::add);
        signal("STOP");
    }

    private void signal(String name) throws IOException, InterruptedException {
        for (long pid : stopped) {
            new ProcessBuilder("kill", "-" + name, String.valueOf(pid)).start().waitFor();
        }
    }
}
