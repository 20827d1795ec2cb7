/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.IOException;
import java.io.StringReader;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.shardflake.ShardKey;
import org.shardflake.Sharding;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.exception.ShardFencedException;
import org.shardflake.sql.FunctionLibrary;

/** Work that has taken effect is not run again, whichever way it did; shard 7 is fenced, so that work on it fails at its end. */
class NothingTwiceTest {

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("library", FunctionLibrary::deploy);

    private static PhotoShards shards;
    private static ShardRouter router;

    @BeforeAll
    static void start() throws SQLException {
        shards = PhotoShards.create(postgres, 1, 10);
        shards.execute(
                0,
                "CREATE SCHEMA IF NOT EXISTS reference; CREATE TABLE reference.country (name text); INSERT INTO shardflake.reference_home (server, mode) VALUES ('%s', 'home'); SELECT shardflake.fence_shard(7)"
                        .formatted(shards.map().servers().get(0).name()));
        router = shards.router()
                .map(shards.map())
                .retryPolicy(RetryPolicy.DEFAULT.withMaxTries(4))
                .build();
    }

    @AfterAll
    static void close() {
        router.close();
    }

    @BeforeEach
    void empty() throws SQLException {
        shards.execute(0, "DELETE FROM shard_0003.photo; DELETE FROM reference.country");
    }

    /** What writes outside of the transaction on shard 7. */
    private enum Effect {
        REFERENCE {
            @Override
            void write() throws SQLException {
                router.reference()
                        .write(connection -> execute(connection, "INSERT INTO reference.country VALUES ('a')"));
            }
        },
        NESTED_WRITE {
            @Override
            void write() throws SQLException {
                router.run(3, tx -> Photos.insert(tx, 3, "once"));
            }
        },
        AUTO_COMMIT {
            @Override
            void write() throws SQLException {
                try (Connection other = router.connection(ShardKey.uid(3))) {
                    execute(other, INSERT);
                }
            }
        },
        TRANSACTION {
            @Override
            void write() throws SQLException {
                try (Connection other = router.connection(ShardKey.uid(3))) {
                    other.setAutoCommit(false);
                    execute(other, INSERT);
                    other.commit();
                }
            }
        },
        TRANSACTION_THAT_ENDS_AS_JDBC_SPECIFIES {
            @Override
            void write() throws SQLException {
                try (Connection other = router.connection(ShardKey.uid(3))) {
                    other.setAutoCommit(false);
                    execute(other, INSERT);
                    other.setAutoCommit(true);
                }
            }
        },
        PREPARED_EARLIER {
            @Override
            void write() throws SQLException {
                router.<Boolean, SQLException>attempt(ShardKey.uid(3), false, attempt -> {
                    try (Connection own = attempt.connection()) {
                        own.setAutoCommit(false);
                        try (PreparedStatement insert = own.prepareStatement(INSERT)) {
                            own.setAutoCommit(true);
                            return insert.execute();
                        }
                    }
                });
            }
        },
        COPY {
            @Override
            void write() throws SQLException {
                try (Connection other = router.connection(ShardKey.uid(3))) {
                    other.unwrap(PGConnection.class)
                            .getCopyAPI()
                            .copyIn("COPY shard_0003.photo (uid) FROM STDIN", new StringReader("3\n"));
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            }
        };

        private static final String INSERT = "INSERT INTO shard_0003.photo (uid) VALUES (3)";

        abstract void write() throws SQLException;
    }

    private static boolean execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return statement.execute(sql);
        }
    }

    @ParameterizedTest
    @EnumSource
    void anAttemptWithAnEffectElsewhereIsNotRunAgain(Effect effect) throws SQLException {
        AtomicInteger runs = new AtomicInteger();

        assertThatThrownBy(() -> attemptOnSeven(() -> {
                    runs.incrementAndGet();
                    effect.write();
                }))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("shard 7");

        assertThat(runs).hasValue(1);
        assertThat(shards.number(
                        0, "SELECT (SELECT count(*) FROM shard_0003.photo) + (SELECT count(*) FROM reference.country)"))
                .isEqualTo(1);
    }

    @Test
    void anAttemptWithoutAnEffectElsewhereIsRunAgain() {
        AtomicInteger runs = new AtomicInteger();

        assertThatThrownBy(() -> attemptOnSeven(() -> {
                    runs.incrementAndGet();
                    router.reference().read(connection -> execute(connection, "SELECT 1 FROM reference.country"));
                    router.<Boolean, SQLException>read(3, tx -> execute(tx.connection(), "SELECT 1"));
                    try (Connection other = router.connection(ShardKey.uid(3))) {
                        other.setAutoCommit(false);
                        execute(other, Effect.INSERT);
                        other.rollback();
                    }
                }))
                .isInstanceOf(ShardFencedException.class);

        assertThat(runs).hasValue(4);
    }

    @Test
    void anAttemptWithANestedWriteOfUnknownOutcomeIsNotRunAgain() throws SQLException {
        shards.execute(0, """
                CREATE FUNCTION shard_0003.die() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
                CREATE CONSTRAINT TRIGGER die AFTER INSERT ON shard_0003.photo DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION shard_0003.die()
                """);
        try {
            for (Effect effect : List.of(Effect.NESTED_WRITE, Effect.TRANSACTION)) {
                AtomicInteger runs = new AtomicInteger();

                assertThatThrownBy(() -> attemptOnSeven(() -> {
                            runs.incrementAndGet();
                            assertThat(catchThrowable(effect::write)).isNotNull();
                        }))
                        .hasMessageContaining("shard 7");

                assertThat(runs).as(effect.name()).hasValue(1);
            }
        } finally {
            shards.execute(0, "DROP TRIGGER die ON shard_0003.photo; DROP FUNCTION shard_0003.die()");
        }
    }

    private interface Work {
        void run() throws SQLException;
    }

    /** Runs work, and then a transaction that shard 7 refuses. */
    private static void attemptOnSeven(Work work) throws SQLException {
        router.<Boolean, SQLException>attempt(ShardKey.uid(7), true, attempt -> {
            work.run();
            try (Connection connection = attempt.connection()) {
                connection.setAutoCommit(false);
                return execute(connection, "INSERT INTO photo (uid) VALUES (7)");
            }
        });
    }

    @Test
    void whatAFailedRunHasChangedIsTakenBackBeforeTheNext() {
        List<String> events = new ArrayList<>();

        assertThatThrownBy(() -> router.<Boolean, SQLException>attempt(ShardKey.uid(7), true, attempt -> {
                    events.add("run");
                    attempt.beforeNextRun(TakeBack.class, () -> () -> events.add("back"));
                    assertThatThrownBy(() -> router.run(7, tx -> {
                                events.add("inner");
                                takeBackInRouter(() -> events.add("inner back"));
                                throw new IllegalStateException("fails for another reason");
                            }))
                            .isInstanceOf(IllegalStateException.class);
                    try (Connection connection = attempt.connection()) {
                        connection.setAutoCommit(false);
                        return execute(connection, "INSERT INTO photo (uid) VALUES (7)");
                    }
                }))
                .isInstanceOf(ShardFencedException.class);

        assertThat(events)
                .startsWith("run", "inner", "inner back", "back", "run")
                .endsWith("back", "run", "inner")
                .hasSize(4 * 2 + 3 * 2);
    }

    private static void takeBackInRouter(TakeBack back) {
        Objects.requireNonNull(router.currentAttempt()).beforeNextRun(TakeBack.class, () -> back);
    }

    @Test
    void whatAWriteHasChangedIsTakenBackBeforeItsNextRun() {
        List<String> events = new ArrayList<>();

        assertThatThrownBy(() -> router.run(7, tx -> {
                    events.add("run");
                    takeBackInRouter(() -> events.add("back"));
                    Photos.insert(tx, 7, "refused");
                }))
                .isInstanceOf(ShardFencedException.class);

        assertThat(events).containsExactly("run", "back", "run", "back", "run", "back", "run");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "COMMIT",
                "/* a comment */ commit WORK",
                "END",
                "ABORT",
                "ROLLBACK AND CHAIN",
                "ROLLBACK TRANSACTION",
                "PREPARE TRANSACTION 'x'",
                "SELECT 1; COMMIT; SELECT 2"
            })
    void sqlCannotEndTheTransactionOfTheRouter(String sql) throws SQLException {
        for (boolean isPrepared : new boolean[] {false, true}) {
            assertThatThrownBy(() -> router.run(3, tx -> {
                        Photos.insert(tx, 3, "once");
                        run(tx.connection(), sql, isPrepared);
                    }))
                    .hasMessageContaining("as SQL is not for work given to the router");
            assertThatThrownBy(() -> router.<Boolean, SQLException>attempt(ShardKey.uid(3), true, attempt -> {
                        try (Connection connection = attempt.connection()) {
                            connection.setAutoCommit(false);
                            execute(connection, Effect.INSERT);
                            run(connection, sql, isPrepared);
                            return true;
                        }
                    }))
                    .hasMessageContaining("as SQL is not for work given to the router");
        }
        assertThat(shards.number(0, "SELECT count(*) FROM shard_0003.photo")).isZero();
    }

    private static void run(Connection connection, String sql, boolean isPrepared) throws SQLException {
        if (isPrepared) {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                statement.execute();
            }
        } else {
            execute(connection, sql);
        }
    }

    @Test
    void sqlThatDoesNotEndTheTransactionIsNotRefused() throws SQLException {
        router.run(3, tx -> {
            execute(tx.connection(), "SAVEPOINT s; ROLLBACK WORK TO s; ROLLBACK TO SAVEPOINT s; RELEASE s");
            execute(tx.connection(), "SELECT 'COMMIT; COMMIT' AS commit; -- ; COMMIT");
            execute(tx.connection(), "DO $$ BEGIN PERFORM 1; END $$");
            execute(
                    tx.connection(),
                    "CREATE FUNCTION shard_0003.one() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 1 END; END");
            execute(tx.connection(), "DROP FUNCTION shard_0003.one()");
        });
        try (Connection own = router.connection(ShardKey.uid(3))) {
            own.setAutoCommit(false);
            execute(own, "COMMIT");
        }
    }

    @Test
    void metadataDoesNotLeadPastTheGuard() throws SQLException {
        router.run(3, tx -> {
            Connection connection = tx.connection();
            assertThat(connection.getMetaData().getConnection()).isSameAs(connection);
            try (ResultSet tables = connection.getMetaData().getTables(null, null, "photo", null)) {
                assertThat(tables.getStatement()).isNull();
            }
        });
        router.<Boolean, SQLException>attempt(ShardKey.uid(3), true, attempt -> {
            try (Connection connection = attempt.connection()) {
                assertThat(connection.getMetaData().getConnection()).isSameAs(connection);
            }
            return true;
        });
    }

    @Test
    void metadataOfAnAttemptShowsTheTablesOfTheShardOnly() throws SQLException {
        router.<Boolean, SQLException>attempt(ShardKey.uid(3), true, attempt -> {
            try (Connection connection = attempt.connection()) {
                assertThat(connection.getSchema()).isEqualTo(Sharding.schema(3));
                assertThat(schemas(connection.getMetaData().getTables(null, null, "photo", null)))
                        .containsExactly(Sharding.schema(3));
                assertThat(schemas(connection.getMetaData().getColumns(null, "", "photo", "uid")))
                        .containsExactly(Sharding.schema(3));
                assertThat(schemas(connection.getMetaData().getPrimaryKeys(null, null, "photo")))
                        .containsExactly(Sharding.schema(3));
                assertThat(schemas(connection.getMetaData().getTables(null, null, "country", null)))
                        .as("what the shard does not have")
                        .containsExactly("reference");
                assertThat(schemas(connection.getMetaData().getTables(null, Sharding.schema(4), "photo", null)))
                        .as("a schema by name")
                        .containsExactly(Sharding.schema(4));
            }
            return true;
        });
    }

    private static List<String> schemas(ResultSet rows) throws SQLException {
        List<String> schemas = new ArrayList<>();
        try (rows) {
            while (rows.next()) {
                schemas.add(rows.getString("TABLE_SCHEM"));
            }
        }
        return schemas;
    }
}
