/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.sql.Statement;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.ShardKey;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.router.exception.ShardFencedException;
import org.shardflake.sql.FunctionLibrary;

/** Work given as a write that writes nothing: it must not be done on a server that the shard has left. */
class WriteThatReadsTest {

    private static final String COUNT = "SELECT count(*) FROM ${shard.schema}.photo";
    private static final String LOCK = "SELECT id FROM ${shard.schema}.photo ORDER BY id LIMIT 1 FOR UPDATE NOWAIT";

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(3).prepareOnce("library", FunctionLibrary::deploy);

    private static PhotoShards shards;

    private TestDatabase catalogDatabase;
    private ShardCatalog catalog;
    private ShardRouter router;
    private long built;

    @BeforeAll
    static void createShards() throws SQLException {
        shards = PhotoShards.create(postgres, 2, 20);
    }

    @BeforeEach
    void start() throws SQLException {
        catalogDatabase = postgres.database(2);
        catalog = shards.catalogIn(catalogDatabase);
        router = shards.router()
                .catalog(catalogDatabase.uri())
                .pollInterval(Duration.ofHours(1))
                .retryPolicy(RetryPolicy.DEFAULT.withMaxTries(20))
                .build();
        built = System.nanoTime();
        for (int i = 0; i < 3; i++) {
            router.write(7, tx -> Photos.insert(tx, 7, "before"));
        }
    }

    @AfterEach
    void cleanUp() throws SQLException {
        router.close();
        shards.execute(
                0,
                "DO $$ BEGIN IF to_regnamespace('shard_0007') IS NOT NULL THEN PERFORM shardflake.drop_shard(7, true); END IF; END $$");
        shards.execute(
                1,
                "SELECT shardflake.unfence_shard(7); SET session_replication_role = replica; DELETE FROM shard_0007.photo");
        execute(catalogDatabase, "DROP SCHEMA shardflake_catalog CASCADE");
    }

    @Test
    void aWriteThatOnlyReadsIsNotAnsweredByTheServerThatTheShardHasLeft() throws SQLException {
        moveUnheard();

        assertThat(router.<Long, SQLException>write(7, tx -> number(tx, COUNT))).isEqualTo(5);
    }

    @Test
    void aWriteThatOnlyLocksLocksOnTheServerThatHasTheShard() throws SQLException {
        moveUnheard();
        try (Connection holder = shards.database(0).connect();
                Statement statement = holder.createStatement()) {
            holder.setAutoCommit(false);
            statement.execute(LOCK.replace("${shard.schema}", "shard_0007"));

            SQLException failure = catchThrowableOfType(
                    SQLException.class, () -> router.<Long, SQLException>write(7, tx -> number(tx, LOCK)));
            assertThat(failure.getSQLState()).isEqualTo("55P03");
            holder.rollback();
        }
        assertThat(router.<Long, SQLException>write(7, tx -> number(tx, LOCK))).isPositive();
    }

    @ParameterizedTest
    @ValueSource(strings = {COUNT, LOCK})
    void aTransactionOfAConnectionThatOnlyReadsIsRefusedToo(String sql) throws SQLException {
        moveUnheard();
        try (Connection connection = router.connection(ShardKey.uid(7));
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute(sql.replace("${shard.schema}", "shard_0007"));

            SQLException refused = catchThrowableOfType(SQLTransientException.class, connection::commit);
            assertThat(refused.getSQLState()).isEqualTo("SF001");
            connection.rollback();
        }
    }

    @Test
    void aFencedShardAnswersNoWriteThatOnlyReadsUntilTheFenceIsDown() throws SQLException {
        shards.execute(1, "SELECT shardflake.fence_shard(7)");

        assertThat(catchThrowableOfType(
                                ShardFencedException.class,
                                () -> router.<Long, SQLException>write(7, tx -> number(tx, COUNT)))
                        .server())
                .isEqualTo("db2");
        assertThat(router.<Long, SQLException>read(7, tx -> number(tx, COUNT))).isEqualTo(3);
        shards.execute(1, "SELECT shardflake.unfence_shard(7)");
        assertThat(router.<Long, SQLException>write(7, tx -> number(tx, COUNT))).isEqualTo(3);
    }

    @Test
    @Tag("full")
    void aRoleThatMayNotUseTheSequenceIsRefusedAsWell() throws SQLException {
        shards.execute(
                1,
                "DROP ROLE IF EXISTS wtr_app; CREATE ROLE wtr_app; GRANT USAGE ON SCHEMA shardflake, shard_0007 TO wtr_app; GRANT SELECT ON shard_0007.photo TO wtr_app; SELECT shardflake.fence_shard(7)");
        try {
            assertThat(catchThrowableOfType(
                            ShardFencedException.class,
                            () -> router.<Long, SQLException>write(7, tx -> {
                                try (Statement statement = tx.connection().createStatement()) {
                                    statement.execute("SET LOCAL ROLE wtr_app");
                                }
                                return number(tx, COUNT);
                            })))
                    .isNotNull();
        } finally {
            shards.execute(1, "DROP OWNED BY wtr_app; DROP ROLE wtr_app");
        }
    }

    @Test
    void aServerWithAnOlderLibraryIsStillServed() throws SQLException {
        shards.execute(1, "ALTER FUNCTION shardflake.require_open(regclass) RENAME TO was_require_open");
        try (ShardRouter fresh = shards.router().map(shards.map()).build()) {
            assertThat(fresh.<Long, SQLException>write(7, tx -> number(tx, COUNT)))
                    .isEqualTo(3);
        } finally {
            shards.execute(1, "ALTER FUNCTION shardflake.was_require_open(regclass) RENAME TO require_open");
        }
    }

    /** Two rows more on the new server, and the router has not heard of it. */
    private void moveUnheard() throws SQLException {
        // Half a second after its start the router listens, and asks for the map once more.
        await().atMost(Duration.ofMinutes(1))
                .until(() -> router.mapHealth().age().toNanos() < System.nanoTime() - built);
        execute(catalogDatabase, """
                CREATE OR REPLACE FUNCTION shardflake_catalog.record_change() RETURNS bigint LANGUAGE sql
                BEGIN ATOMIC
                    UPDATE shardflake_catalog.installation SET version = version + 1 RETURNING version;
                END
                """);
        new PhotoMover(shards, catalog).move(7, 0, false);
        shards.execute(0, "INSERT INTO shard_0007.photo (uid) VALUES (7), (7)");
        assertThat(router.map().server(7).name()).isEqualTo("db2");
    }

    private static long number(ShardTransaction tx, String sql) throws SQLException {
        try (Statement statement = tx.connection().createStatement();
                ResultSet row = statement.executeQuery(tx.sql(sql))) {
            row.next();
            return row.getLong(1);
        }
    }

    private static void execute(TestDatabase database, String sql) throws SQLException {
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
