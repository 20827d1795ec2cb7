/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.sql.BatchUpdateException;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.sql.Statement;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.postgresql.PGStatement;
import org.postgresql.util.PSQLException;
import org.shardflake.ShardKey;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.sql.FunctionLibrary;

/** Whatever meets a fence on a connection without a lambda is refused with JDBC's exception for what may be repeated. */
class DirectConnectionTest {

    private static final String INSERT = "INSERT INTO shard_0007.photo (uid) VALUES (7)";
    private static final String LATE_IDS =
            "SELECT CASE WHEN i > 15 THEN shardflake.next_id(7, 'shard_0007.photo_id_seq') END FROM generate_series(1, 30) i";

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("library", FunctionLibrary::deploy);

    private static PhotoShards shards;
    private static ShardRouter router;

    /** Where a user gets the connection from. */
    private enum Source {
        ROUTER {
            @Override
            void use(Work work) throws SQLException {
                try (Connection connection = router.connection(ShardKey.uid(7))) {
                    work.with(connection);
                }
            }
        },
        DATA_SOURCE {
            @Override
            void use(Work work) throws SQLException {
                try (Connection connection = router.dataSource()
                        .createConnectionBuilder()
                        .shardingKey(ShardKey.uid(7))
                        .build()) {
                    work.with(connection);
                }
            }
        },
        ATTEMPT {
            @Override
            void use(Work work) throws SQLException {
                router.<Boolean, SQLException>attempt(ShardKey.uid(7), false, attempt -> {
                    try (Connection connection = attempt.connection()) {
                        work.with(connection);
                    }
                    return true;
                });
            }
        };

        abstract void use(Work work) throws SQLException;
    }

    @FunctionalInterface
    private interface Work {
        void with(Connection connection) throws SQLException;
    }

    @BeforeAll
    static void start() throws SQLException {
        shards = PhotoShards.create(postgres, 1, 10);
        router = shards.router().map(shards.map()).build();
    }

    @AfterAll
    static void close() {
        router.close();
    }

    @BeforeEach
    void fence() throws SQLException {
        shards.execute(0, INSERT + ", (7); SELECT shardflake.fence_shard(7)");
    }

    @AfterEach
    void open() throws SQLException {
        shards.execute(0, "SELECT shardflake.unfence_shard(7); DELETE FROM shard_0007.photo");
    }

    private static SQLException refused(ThrowingCallable work) {
        SQLException refused = catchThrowableOfType(SQLTransientException.class, work);
        assertThat(refused.getSQLState()).isEqualTo("SF001");
        assertThat(refused.getCause()).isInstanceOf(PSQLException.class);
        return refused;
    }

    @ParameterizedTest
    @EnumSource(Source.class)
    void aStatementSaysThatItMayBeRepeated(Source source) throws SQLException {
        source.use(connection -> {
            try (Statement statement = connection.createStatement()) {
                refused(() -> statement.execute(INSERT));
                refused(() -> statement.executeUpdate(INSERT));
                refused(() -> statement.executeQuery(INSERT + " RETURNING id"));
                refused(() -> statement.executeUpdate(INSERT, Statement.RETURN_GENERATED_KEYS));
                assertThat(statement.getConnection()).isSameAs(connection);
            }
        });
    }

    @ParameterizedTest
    @EnumSource(Source.class)
    void aPreparedStatementSaysThatItMayBeRepeated(Source source) throws SQLException {
        source.use(connection -> {
            try (PreparedStatement insert =
                    connection.prepareStatement("INSERT INTO shard_0007.photo (uid) VALUES (?)")) {
                insert.setLong(1, 7);
                refused(insert::executeUpdate);

                insert.addBatch();
                SQLException batch = catchThrowableOfType(BatchUpdateException.class, insert::executeBatch);
                assertThat(batch.getSQLState()).isEqualTo("SF001");

                insert.setString(1, "seven");
                PSQLException wrong = catchThrowableOfType(PSQLException.class, insert::executeUpdate);
                assertThat(wrong.getSQLState()).isEqualTo("42804");

                assertThat(insert.getConnection()).isSameAs(connection);
                assertThat(Set.of(insert)).contains(insert);
                assertThat(insert.unwrap(PGStatement.class)).isNotNull();
            }
        });
    }

    @ParameterizedTest
    @EnumSource(Source.class)
    void aCallSaysThatItMayBeRepeated(Source source) throws SQLException {
        source.use(connection -> {
            try (CallableStatement call =
                    connection.prepareCall("{? = call shardflake.next_id(7, 'shard_0007.photo_id_seq')}")) {
                call.registerOutParameter(1, java.sql.Types.BIGINT);
                refused(call::execute);
            }
        });
    }

    @ParameterizedTest
    @EnumSource(Source.class)
    void rowsThatAreFetchedLaterSayThatTheStatementMayBeRepeated(Source source) throws SQLException {
        source.use(connection -> {
            connection.setAutoCommit(false);
            try (PreparedStatement select = connection.prepareStatement(LATE_IDS)) {
                select.setFetchSize(10);
                try (ResultSet rows = select.executeQuery()) {
                    for (int i = 0; i < 10; i++) {
                        assertThat(rows.next()).isTrue();
                    }
                    refused(rows::next);
                    assertThat(rows.getStatement()).isSameAs(select);
                    assertThat(Set.of(rows)).contains(rows);
                }
            }
            connection.rollback();
        });
    }

    @ParameterizedTest
    @EnumSource(Source.class)
    void rowsThatAreChangedInPlaceSayThatTheChangeMayBeRepeated(Source source) throws SQLException {
        source.use(connection -> {
            try (Statement select =
                            connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
                    ResultSet rows = select.executeQuery("SELECT id, uid, title FROM shard_0007.photo ORDER BY id")) {
                assertThat(rows.next()).isTrue();
                rows.updateString("title", "changed");
                refused(rows::updateRow);
                rows.cancelRowUpdates();
                refused(rows::deleteRow);
                rows.moveToInsertRow();
                rows.updateLong("id", 1);
                rows.updateLong("uid", 7);
                refused(rows::insertRow);
            }
        });
    }

    @ParameterizedTest
    @EnumSource(Source.class)
    void aTransactionThatOnlyReadSaysSoAtItsEnd(Source source) throws SQLException {
        source.use(connection -> {
            try (Statement statement = connection.createStatement()) {
                connection.setAutoCommit(false);
                statement.executeQuery("SELECT count(*) FROM shard_0007.photo").close();
                refused(connection::commit);
                connection.rollback();

                statement.executeQuery("SELECT count(*) FROM shard_0007.photo").close();
                refused(() -> connection.setAutoCommit(true));
                connection.rollback();
            }
        });
    }

    @Test
    void rowsThatAreAllHereAreReadAtTheDriversOwnSpeed() throws SQLException {
        Source.ROUTER.use(connection -> {
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT count(*) FROM shard_0007.photo")) {
                assertThat(java.lang.reflect.Proxy.isProxyClass(rows.getClass()))
                        .isFalse();
            }
        });
    }
}
