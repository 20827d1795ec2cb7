/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardKey;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.ShardRouter;

/** Users, orders and items, where the key of all is the primary key of the users: from an old database to new rows. */
class ShopTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final int OLD = 2;

    private static final String TABLES = """
            CREATE TABLE users (id bigint PRIMARY KEY, name text NOT NULL);
            CREATE TABLE orders (id bigint PRIMARY KEY, user_id bigint NOT NULL REFERENCES users);
            CREATE TABLE items (order_id bigint REFERENCES orders, line integer, user_id bigint NOT NULL, what text NOT NULL, PRIMARY KEY (order_id, line));
            """;

    private static final String KEYS = """
            COMMENT ON COLUMN users.id IS 'shard key';
            COMMENT ON COLUMN orders.user_id IS 'shard key';
            COMMENT ON COLUMN items.user_id IS 'shard key';
            """;

    private final CliInstallation installation = new CliInstallation(postgres);

    @TempDir
    private Path directory;

    @BeforeEach
    void begin() throws SQLException {
        installation.init();
        installation.execute(OLD, """
                DROP SCHEMA IF EXISTS shop CASCADE;
                DROP SCHEMA IF EXISTS shardflake_adopt CASCADE;
                CREATE SCHEMA shop;
                CREATE TABLE shop.users (id serial PRIMARY KEY, name text NOT NULL);
                CREATE TABLE shop.orders (id serial PRIMARY KEY, user_id integer NOT NULL REFERENCES shop.users);
                CREATE TABLE shop.items (order_id integer REFERENCES shop.orders, line integer, user_id integer NOT NULL, what text NOT NULL, PRIMARY KEY (order_id, line));
                INSERT INTO shop.users (name) SELECT 'user ' || n FROM generate_series(1, 50) n;
                INSERT INTO shop.orders (user_id) SELECT n % 50 + 1 FROM generate_series(1, 200) n;
                INSERT INTO shop.items SELECT o.id, n, o.user_id, 'thing' FROM shop.orders o, generate_series(1, 3) n
                """);
    }

    private Result deploy(String... changeSets) throws IOException {
        StringBuilder changelog = new StringBuilder("--liquibase formatted sql\n");
        for (String changeSet : changeSets) {
            changelog
                    .append("--changeset ann:")
                    .append(changeSet.hashCode())
                    .append('\n')
                    .append(changeSet);
        }
        Files.writeString(directory.resolve("shop.sql"), changelog);
        return installation.launch(
                "schema", "deploy", "--changelog=" + directory.resolve("shop.sql"), "--search-path=" + directory);
    }

    private Result adopt(String table, String... options) {
        return installation.launch(Stream.concat(
                        Stream.of("adopt", "run", "--table=shop." + table, "--from=" + installation.url(OLD)),
                        Stream.of(options))
                .toArray(String[]::new));
    }

    @Test
    void fromAnOldDatabaseToNewUsersAndTheirOrders() throws Exception {
        assertSucceeds(deploy(TABLES + KEYS));
        for (String table : new String[] {"users", "orders", "items"}) {
            assertSucceeds(adopt(table));
        }
        for (String table : new String[] {"users", "orders", "items"}) {
            assertSucceeds(adopt(table, "--finish", "--yes"));
        }

        Set<Long> ids = new HashSet<>();
        Set<Integer> shards = new HashSet<>();
        try (ShardRouter router = ShardRouter.builder()
                .catalog(postgres.database(0).uri())
                .credentials(postgres.database(0).user(), installation.password())
                .build()) {
            for (int i = 0; i < 120; i++) {
                if (i == 60) {
                    assertSucceeds(installation.launch("move", "run", "--shards=1", "--to=db2"));
                }
                long user = router.write(
                        router.anyShard(),
                        tx -> id(
                                tx.connection(),
                                tx.sql("INSERT INTO ${shard.schema}.users (name) VALUES ('new') RETURNING id"),
                                null));
                long order = router.write(
                        user,
                        tx -> id(
                                tx.connection(),
                                tx.sql("INSERT INTO ${shard.schema}.orders (user_id) VALUES (?) RETURNING id"),
                                user));
                router.run(
                        user,
                        tx -> id(
                                tx.connection(),
                                tx.sql("INSERT INTO ${shard.schema}.items VALUES (%s, 1, ?, 'thing') RETURNING 1"
                                        .formatted(order)),
                                user));
                ids.add(user);
                shards.add(router.locate(ShardKey.uid(user)).shard());
                assertThat(router.locate(ShardKey.id(order)).shard())
                        .isEqualTo(router.locate(ShardKey.uid(user)).shard());
            }
        }

        assertThat(ids).hasSize(120).allMatch(id -> id > 1_000_000);
        assertThat(shards)
                .as("of 8 shards, any is missed once in a million runs")
                .hasSize(8);
        Result doctor = installation.launch("doctor", "--rows");
        assertThat(doctor.exitCode()).as(doctor.toString()).isZero();
    }

    @Test
    void withoutAKeyThatIsSaidNewUsersWouldBeLost() throws Exception {
        assertSucceeds(deploy(TABLES));
        assertThat(adopt("users").err())
                .startsWith("error: by which column do the rows of shop.users belong to a shard?");

        Result refused = adopt("users", "--key=id");

        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err())
                .contains(
                        "users is keyed by its own primary key id, but new rows would get ids that lead to other shards")
                .contains("COMMENT ON COLUMN users.id IS 'shard key'");
        assertSucceeds(deploy(TABLES, KEYS));
        assertSucceeds(adopt("users"));
        assertThat(adopt("orders", "--key=id").err()).contains("the shard key of orders is user_id, and not id");
    }

    @Test
    @Tag("full")
    void aKeyThatRefersToIdsIsRefused() throws Exception {
        Result refused = deploy(TABLES + KEYS.replaceFirst(".*\n", ""));

        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.FAILURE);
        assertThat(refused.err())
                .contains("orders is keyed by user_id, which refers to id of table")
                .contains("whose new ids are of another shard");
    }

    @Test
    void aKeyThatPostgresqlFillsIsRefusedAndNoShardIsChanged() throws Exception {
        Result refused = deploy(TABLES.replaceFirst("id bigint PRIMARY KEY", "id bigserial PRIMARY KEY"), KEYS);

        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.FAILURE);
        assertThat(refused.err())
                .contains("column id of table shard_0000.users is the shard key, and PostgreSQL fills it")
                .contains("Declare it without IDENTITY, serial or DEFAULT.");
        assertSucceeds(deploy(TABLES, KEYS));
    }

    private static void assertSucceeds(Result result) {
        assertThat(result.exitCode()).as(result.toString()).isZero();
    }

    private static long id(Connection connection, String sql, @Nullable Long parameter) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            if (parameter != null) {
                statement.setLong(1, parameter);
            }
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }
}
