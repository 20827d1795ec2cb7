/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.router.PhotoShards;
import org.shardflake.router.Photos;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;
import org.shardflake.sql.FunctionLibrary;

class MicrometerListenerTest {

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(3).prepareOnce("library", FunctionLibrary::deploy);

    private static PhotoShards shards;

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

    @BeforeAll
    static void createShards() throws SQLException {
        shards = PhotoShards.create(postgres, 2, 4);
    }

    private ShardRouter router() {
        return shards.router()
                .map(shards.map())
                .listener(new MicrometerListener(registry))
                .build();
    }

    @Test
    void timesTransactionsByServerKindAndOutcome() throws SQLException {
        try (ShardRouter router = router()) {
            router.write(0, tx -> Photos.insert(tx, 0, "one"));
            router.write(2, tx -> Photos.insert(tx, 2, "two"));
            router.<Long, SQLException>read(1, tx -> Photos.count(tx, 1));
            assertThatExceptionOfType(SQLException.class).isThrownBy(() -> router.run(1, tx -> raise(tx, "22012")));

            assertThat(transactions("db1", "write", "committed")).isEqualTo(2);
            assertThat(transactions("db1", "write", "rolled_back")).isZero();
            assertThat(transactions("db2", "read", "committed")).isEqualTo(1);
            assertThat(transactions("db2", "write", "rolled_back")).isEqualTo(1);
        }
    }

    @Test
    void timesWhatIsDoneOnAConnectionOutsideOfALambda() throws SQLException {
        try (ShardRouter router = router()) {
            try (Connection connection = router.connection(ShardKey.uid(0))) {
                execute(connection, "SELECT 1");
                assertThatExceptionOfType(SQLException.class).isThrownBy(() -> execute(connection, "SELECT 1 / 0"));
                connection.setAutoCommit(false);
                execute(connection, "SELECT 1");
                execute(connection, "SELECT 1");
                connection.commit();
                execute(connection, "SELECT 1");
                connection.setAutoCommit(true); // which commits
                connection.setAutoCommit(false);
                execute(connection, "SELECT 1");
            }
            assertThat(transactions("db1", "write", "committed")).isEqualTo(3);
            assertThat(transactions("db1", "write", "rolled_back")).isEqualTo(2);

            try (Connection connection = router.connection(ShardKey.uid(1))) {
                connection.setReadOnly(true);
                execute(connection, "SELECT 1");
            }
            assertThat(transactions("db2", "read", "committed")).isEqualTo(1);
        }
    }

    @Test
    void timesWhatAFrameworkDoes() throws SQLException {
        try (ShardRouter router = router()) {
            router.<Boolean, SQLException>attempt(ShardKey.uid(0), true, attempt -> {
                try (Connection connection = attempt.connection()) {
                    execute(connection, "SELECT 1");
                    connection.setAutoCommit(false);
                    execute(connection, "SELECT 1");
                    connection.commit();
                    execute(connection, "SELECT 1");
                    connection.rollback();
                    connection.setAutoCommit(true);
                }
                return true;
            });
            router.run(0, tx -> {
                try (Connection joined =
                        Objects.requireNonNull(router.currentAttempt()).connection()) {
                    execute(joined, "SELECT 1");
                }
            });

            assertThat(transactions("db1", "write", "committed")).isEqualTo(3);
            assertThat(transactions("db1", "write", "rolled_back")).isEqualTo(1);
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void countsRetriesByServerAndReason() throws SQLException {
        try (ShardRouter router = router()) {
            AtomicInteger runs = new AtomicInteger();
            router.run(1, tx -> {
                if (runs.incrementAndGet() < 3) {
                    raise(tx, "SF001");
                }
            });

            assertThat(registry.get("shardflake.retries")
                            .tags("server", "db2", "reason", "shard_moved")
                            .counter()
                            .count())
                    .isEqualTo(2);
            assertThat(transactions("db2", "write", "rolled_back")).isEqualTo(2);
            assertThat(transactions("db2", "write", "committed")).isEqualTo(1);
        }
    }

    @Test
    void gaugesConnectionsInUse() {
        try (ShardRouter router = router()) {
            assertThat(connections("db1", "active")).isZero();
            router.run(0, tx -> {
                assertThat(connections("db1", "active")).isEqualTo(1);
                assertThat(connections("db2", "active")).isZero();
            });
            assertThat(connections("db1", "active")).isZero();
            assertThat(connections("db1", "idle")).isPositive();
            assertThat(registry.get("shardflake.pool.waiting")
                            .tag("server", "db1")
                            .gauge()
                            .value())
                    .isZero();
        }
    }

    @Test
    void followsTheMapAndItsServers() throws SQLException {
        TestDatabase catalogDatabase = postgres.database(2);
        ShardCatalog catalog = shards.catalogIn(catalogDatabase);
        try (ShardRouter ignored = shards.router()
                .catalog(catalogDatabase.uri())
                .pollInterval(Duration.ofMillis(200))
                .listener(new MicrometerListener(registry))
                .build()) {
            assertThat(gauge("shardflake.map.version")).isEqualTo(1);
            assertThat(gauge("shardflake.map.age")).isBetween(0.0, 60.0);
            assertThat(gauge("shardflake.catalog.reachable")).isEqualTo(1);
            assertThat(serversOfPools()).containsExactlyInAnyOrder("db1", "db2");

            catalog.addServer(new Server("db9", "postgresql://127.0.0.1:1/nowhere"), "a test");
            catalog.place(shards.map().shards(shards.map().server("db2")), "db1", "a test");
            catalog.removeServer("db2", "a test");

            await().atMost(Duration.ofMinutes(1))
                    .untilAsserted(() -> assertThat(serversOfPools()).containsExactlyInAnyOrder("db1", "db9"));
            assertThat(gauge("shardflake.map.version")).isEqualTo((double) catalog.version());
        }
    }

    @Test
    void bearsAMapChangeBeforeTheRouterHasStarted() {
        MicrometerListener listener = new MicrometerListener(registry);
        listener.mapChanged(shards.map());
        assertThat(registry.getMeters()).isEmpty();

        try (ShardRouter ignored =
                shards.router().map(shards.map()).listener(listener).build()) {
            assertThat(serversOfPools()).containsExactlyInAnyOrder("db1", "db2");
        }
    }

    @Test
    void belongsToOneRouter() {
        MicrometerListener listener = new MicrometerListener(registry);
        try (ShardRouter ignored =
                shards.router().map(shards.map()).listener(listener).build()) {
            assertThatIllegalStateException()
                    .isThrownBy(() ->
                            shards.router().map(shards.map()).listener(listener).build())
                    .withMessage("this listener belongs to another router; make one for each");
        }
    }

    @Test
    void tagsNothingByShard() throws SQLException {
        try (ShardRouter router = router()) {
            router.write(0, tx -> Photos.insert(tx, 0, "one"));

            assertThat(registry.getMeters())
                    .flatExtracting(meter -> meter.getId().getTags())
                    .extracting("key")
                    .containsOnly("server", "kind", "outcome", "reason", "state");
        }
    }

    private long transactions(String server, String kind, String outcome) {
        return registry.get("shardflake.transactions")
                .tags("server", server, "kind", kind, "outcome", outcome)
                .timer()
                .count();
    }

    private double connections(String server, String state) {
        return registry.get("shardflake.pool.connections")
                .tags("server", server, "state", state)
                .gauge()
                .value();
    }

    private double gauge(String name) {
        return registry.get(name).gauge().value();
    }

    private Set<String> serversOfPools() {
        return registry.getMeters().stream()
                .map(Meter::getId)
                .filter(id -> id.getName().startsWith("shardflake.pool."))
                .map(id -> String.valueOf(id.getTag("server")))
                .collect(Collectors.toSet());
    }

    private static void raise(ShardTransaction tx, String state) throws SQLException {
        try (Statement statement = tx.connection().createStatement()) {
            statement.execute("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '%s'; END $$".formatted(state));
        }
    }
}
