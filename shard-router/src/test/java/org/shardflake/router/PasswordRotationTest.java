/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.Server;
import org.shardflake.catalog.CatalogUnavailableException;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.ManagedRole;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.exception.AuthenticationFailedException;
import org.shardflake.router.exception.ServerUnavailableException;
import org.shardflake.server.PasswordSource;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.FunctionLibrary;

/** A router whose password is replaced while it works, on servers that ask for it. */
final class PasswordRotationTest {

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(2).prepareOnce("library", FunctionLibrary::deploy);

    private static final String ROLE = "rotated";

    private static PhotoShards shards;
    private static ShardCatalog catalog;

    @BeforeAll
    static void createShards() throws SQLException {
        shards = PhotoShards.create(postgres, 2, 4);
        catalog = shards.catalogIn(shards.database(0));
        for (int server = 0; server < 2; server++) {
            shards.execute(server, ManagedRole.createByPassword());
            shards.execute(server, "CREATE ROLE %s LOGIN SUPERUSER".formatted(ROLE));
            shards.execute(server, "GRANT %s TO %s".formatted(ManagedRole.BY_PASSWORD, ROLE));
        }
    }

    @AfterAll
    static void dropRole() throws SQLException {
        for (int server = 0; server < 2; server++) {
            shards.execute(server, "DROP ROLE " + ROLE);
        }
    }

    @Test
    void rotationsUnderLoadCauseNoFailure() throws Exception {
        rotateUnderLoad(5);
    }

    @Test
    @Tag("full")
    void fiftyRotationsUnderLoadCauseNoFailure() throws Exception {
        rotateUnderLoad(50);
    }

    private static void rotateUnderLoad(int rotations) throws Exception {
        shards.execute(0, "TRUNCATE shard_0000.photo, shard_0002.photo");
        shards.execute(1, "TRUNCATE shard_0001.photo, shard_0003.photo");
        AtomicReference<String> current = new AtomicReference<>(rotate(0));
        Set<PasswordSource.Login> logins = ConcurrentHashMap.newKeySet();
        AtomicInteger asked = new AtomicInteger();
        Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
        AtomicInteger written = new AtomicInteger();
        AtomicBoolean ends = new AtomicBoolean();
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        ExecutorService threads = Executors.newCachedThreadPool();
        try (ShardRouter router = ShardRouter.builder()
                .catalog(catalogUrl())
                .pollInterval(Duration.ofMillis(200))
                .poolSize(4)
                .credentials(ROLE, null)
                .credentials(login -> {
                    logins.add(login);
                    asked.incrementAndGet();
                    return Objects.requireNonNull(current.get());
                })
                .build()) {
            List<Future<?>> running = new ArrayList<>();
            // A session of the first password outlives all others.
            Future<?> old = threads.submit(() -> {
                router.run(0, tx -> {
                    Photos.insert(tx, 0, "before");
                    held.countDown();
                    over.await();
                    Photos.insert(tx, 0, "after");
                });
                return true;
            });
            for (int thread = 0; thread < 3; thread++) {
                int uid = thread + 1;
                running.add(threads.submit(() -> {
                    while (!ends.get()) {
                        try {
                            router.run(uid, tx -> {
                                Photos.insert(tx, uid, "one");
                                leavesItsConnectionUnfit(tx);
                            });
                            written.incrementAndGet();
                        } catch (Exception e) {
                            failures.add(e);
                        }
                    }
                }));
            }
            held.await();
            for (int rotation = 1; rotation <= rotations; rotation++) {
                int before = asked.get();
                String next = rotate(rotation);
                // The source lags behind the servers, which have dropped the old password already.
                await().atMost(Duration.ofMinutes(1))
                        .pollInterval(Duration.ofMillis(2))
                        .until(() -> asked.get() > before || !failures.isEmpty());
                current.set(next);
                int since = asked.get();
                cutTheRoutersOwnSessions();
                await().atMost(Duration.ofMinutes(1))
                        .pollInterval(Duration.ofMillis(2))
                        .until(() -> asked.get() > since + 3 || !failures.isEmpty());
            }
            over.countDown();
            old.get();
            ends.set(true);
            for (Future<?> each : running) {
                each.get();
            }
            Server changed = PhotoShards.server(shards.database(1));
            catalog.changeServer(
                    new Server(changed.name(), changed.url(), Optional.empty(), Map.of("zone", "a")), "a test");
            await().atMost(Duration.ofMinutes(1))
                    .untilAsserted(() -> assertThat(router.map().version())
                            .isEqualTo(catalog.load().version()));
        } finally {
            threads.shutdownNow();
        }

        assertThat(failures).isEmpty();
        long rows = shards.number(0, "SELECT count(*) FROM shard_0002.photo")
                + shards.number(
                        1, "SELECT (SELECT count(*) FROM shard_0001.photo) + (SELECT count(*) FROM shard_0003.photo)");
        assertThat(rows).isEqualTo(written.get());
        assertThat(shards.number(0, "SELECT count(*) FROM shard_0000.photo")).isEqualTo(2);
        assertThat(logins).extracting(PasswordSource.Login::user).containsOnly(ROLE);
        assertThat(logins).extracting(PasswordSource.Login::port).containsExactlyInAnyOrder(port(0), port(1));
        assertThat(logins)
                .extracting(PasswordSource.Login::database)
                .containsOnly(shards.database(0).name());
    }

    private static int port(int server) {
        return ServerUrl.parse(shards.database(server).uri()).dataSource().getPortNumbers()[0];
    }

    private static String rotate(int rotation) throws SQLException {
        String password = "password " + rotation;
        for (int server = 0; server < 2; server++) {
            shards.execute(server, "ALTER ROLE %s PASSWORD '%s'".formatted(ROLE, password));
        }
        return password;
    }

    /** A statement prepared by SQL stays in the session, which is therefore replaced. */
    private static void leavesItsConnectionUnfit(ShardTransaction tx) throws SQLException {
        try (Statement statement = tx.connection().createStatement()) {
            statement.execute("PREPARE left_here AS SELECT 1");
        }
    }

    private static void cutTheRoutersOwnSessions() throws SQLException {
        shards.execute(
                0,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '%s' AND application_name LIKE 'shardflake router%%'"
                        .formatted(ROLE));
    }

    private static String catalogUrl() {
        return PhotoShards.server(shards.database(0)).url();
    }

    @Test
    void aFailureOfTheSourceIsToldAsSuch() {
        PasswordSource down = login -> {
            throw new IOException("the token service is down");
        };
        try (ShardRouter router = ShardRouter.builder()
                .map(shards.map())
                .credentials(ROLE, null)
                .credentials(down)
                .connectionTimeout(Duration.ofMillis(300))
                .build()) {
            ServerUnavailableException failure = catchThrowableOfType(
                    ServerUnavailableException.class, () -> router.read(1, tx -> Photos.count(tx, 1)));

            assertThat(failure)
                    .hasMessageStartingWith("cannot connect to server db2 at ")
                    .hasMessageContaining(": there is no password for user rotated at ")
                    .hasMessageEndingWith(": the token service is down");
        }
        assertThatThrownBy(() -> ShardRouter.builder()
                        .catalog(catalogUrl())
                        .credentials(ROLE, null)
                        .credentials(down)
                        .build())
                .isInstanceOf(CatalogUnavailableException.class)
                .hasMessageContaining("the token service is down");
    }

    @Test
    void aPasswordThatStaysWrongIsTriedUntilTheConnectionTimeout() {
        AtomicInteger asked = new AtomicInteger();
        try (ShardRouter router = ShardRouter.builder()
                .map(shards.map())
                .credentials(ROLE, null)
                .credentials(login -> "wrong " + asked.incrementAndGet())
                .connectionTimeout(Duration.ofMillis(500))
                .build()) {
            // A busy machine may not complete a login in this time.
            await().atMost(Duration.ofMinutes(1))
                    .untilAsserted(() -> assertThatThrownBy(() -> router.read(1, tx -> Photos.count(tx, 1)))
                            .isInstanceOf(AuthenticationFailedException.class)
                            .hasMessageStartingWith("server db2 does not let user rotated log in: ")
                            .hasMessageNotContaining("wrong 1"));
            assertThat(asked).hasValueGreaterThan(2);
        }
    }

    @Test
    void aPasswordAndASourceOfPasswordsAreNotTakenTogether() {
        ShardRouterBuilder both = ShardRouter.builder()
                .map(shards.map())
                .credentials(ROLE, "secret")
                .credentials(login -> "other");

        assertThatThrownBy(both::build)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("not both")
                .hasMessageNotContaining("secret");
    }

    @Test
    void theSourceReplacesThePasswordOfTheCatalogsUrl() throws SQLException {
        String password = rotate(1000);
        try (ShardRouter router = ShardRouter.builder()
                .catalog(ServerUrl.parse(shards.database(0).uri(ROLE, "outdated")))
                .credentials(login -> password)
                .build()) {
            assertThat(router.map().servers()).hasSize(2);
        }
    }
}
