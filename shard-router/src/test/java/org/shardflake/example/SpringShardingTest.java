/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.sql.JDBCType;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.ShardingKey;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.shardflake.ShardKey;
import org.shardflake.Sharding;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.PhotoShards;
import org.shardflake.router.ShardRouter;
import org.shardflake.sql.FunctionLibrary;
import org.springframework.jdbc.CannotGetJdbcConnectionException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.ShardingKeyDataSourceAdapter;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.transaction.support.TransactionTemplate;

class SpringShardingTest {

    private static final int SHARDS = 20;

    private static final UUID SOMEBODY = new UUID(1, 2);

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(2).prepareOnce("library", FunctionLibrary::deploy);

    private static PhotoShards shards;
    private static ShardRouter router;

    private final AtomicReference<@Nullable ShardingKey> current = new AtomicReference<>();
    private final DataSource adapter = new ShardingKeyDataSourceAdapter(router.dataSource(), current::get);
    private final JdbcTemplate jdbc = new JdbcTemplate(adapter);
    private final TransactionTemplate transaction = new TransactionTemplate(new DataSourceTransactionManager(adapter));

    @BeforeAll
    static void start() throws SQLException {
        shards = PhotoShards.create(postgres, 2, SHARDS);
        router = shards.router().map(shards.map()).build();
    }

    @AfterAll
    static void close() {
        router.close();
    }

    @BeforeEach
    void empty() throws SQLException {
        for (int shard = 0; shard < SHARDS; shard++) {
            shards.execute(shard % 2, "DELETE FROM %s.photo".formatted(Sharding.schema(shard)));
        }
    }

    @Test
    void writesToTheServerOfTheCurrentKey() throws SQLException {
        insert(7);
        insert(8);

        assertThat(photos(7)).isEqualTo(1);
        assertThat(photos(8)).isEqualTo(1);
    }

    @Test
    void commitsATransaction() throws SQLException {
        current.set(ShardKey.uid(7));
        transaction.executeWithoutResult(status -> {
            insert(7);
            insert(7);
        });

        assertThat(photos(7)).isEqualTo(2);
    }

    @Test
    void rollsBackATransaction() throws SQLException {
        current.set(ShardKey.uid(7));
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> {
                    insert(7);
                    throw new IllegalArgumentException("the caller's own");
                }));

        assertThat(photos(7)).isZero();
    }

    @Test
    void needsAKey() {
        assertThatExceptionOfType(CannotGetJdbcConnectionException.class)
                .isThrownBy(() -> jdbc.execute("SELECT 1"))
                .havingCause()
                .isInstanceOf(SQLException.class)
                .withMessage("a connection to a shard needs a sharding key, such as ShardKey.uid(uid)");
    }

    @ParameterizedTest
    @MethodSource("uids")
    void buildsKeysOfUids(Object uid, JDBCType type, ShardKey expected) throws SQLException {
        current.set(
                router.dataSource().createShardingKeyBuilder().subkey(uid, type).build());

        assertThat(router.schema((ShardKey) Objects.requireNonNull(current.get())))
                .isEqualTo(router.schema(expected));
        insert(jdbc, router.schema(expected), 1);
        assertThat(photos(router.locate(expected).shard())).isEqualTo(1);
    }

    static Stream<Arguments> uids() {
        return Stream.of(
                Arguments.of(7L, JDBCType.BIGINT, ShardKey.uid(7)),
                Arguments.of(8, JDBCType.INTEGER, ShardKey.uid(8)),
                Arguments.of("alice", JDBCType.VARCHAR, ShardKey.uid("alice")),
                Arguments.of(SOMEBODY, JDBCType.OTHER, ShardKey.uid(SOMEBODY)));
    }

    @Test
    void refusesKeysOfOthers() {
        ShardingKey foreign = new ShardingKey() {};
        current.set(foreign);

        assertThatExceptionOfType(CannotGetJdbcConnectionException.class)
                .isThrownBy(() -> jdbc.execute("SELECT 1"))
                .havingCause()
                .withMessageContaining("is not a ShardKey; make one with ShardKey.uid");
    }

    @Test
    void refusesASuperShardingKey() {
        assertThatExceptionOfType(SQLFeatureNotSupportedException.class)
                .isThrownBy(() -> router.dataSource()
                        .createConnectionBuilder()
                        .shardingKey(ShardKey.uid(7))
                        .superShardingKey(ShardKey.uid(7))
                        .build())
                .withMessage("shards have no super-sharding key");
    }

    @Test
    void refusesAUserAndPassword() {
        assertThatExceptionOfType(SQLFeatureNotSupportedException.class)
                .isThrownBy(() -> router.dataSource()
                        .createConnectionBuilder()
                        .shardingKey(ShardKey.uid(7))
                        .user("someone")
                        .password("secret")
                        .build())
                .withMessage("the router logs in with the credentials it was built with");
    }

    @Test
    void givesARoutersTransactionToJdbcTemplate() throws SQLException {
        router.run(7, tx -> {
            JdbcTemplate inside = new JdbcTemplate(new SingleConnectionDataSource(tx.connection(), true));
            insert(inside, tx.schema(), 7);
            insert(inside, tx.schema(), 7);
        });
        assertThat(photos(7)).isEqualTo(2);
    }

    private void insert(long uid) {
        ShardKey key = ShardKey.uid(uid);
        current.set(key);
        insert(jdbc, router.schema(key), uid);
    }

    private static void insert(JdbcTemplate jdbc, String schema, long uid) {
        jdbc.update("INSERT INTO %s.photo (uid, title) VALUES (?, 'a photo')".formatted(schema), uid);
    }

    private static long photos(int shard) throws SQLException {
        return shards.number(shard % 2, "SELECT count(*) FROM %s.photo".formatted(Sharding.schema(shard)));
    }
}
