/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/** The shop's one database, with some thousand rows. An ordinary role owns its tables. */
final class OldShop implements AutoCloseable {

    static final int SHARDS = 20;
    /** Enough for the application's own tests to have a user in each shard. */
    static final int USERS = Customers.PARTS * SHARDS;

    static final String SCHEMA = "shop";
    static final String OWNER = "shop_owner";
    static final String PASSWORD = "shop";

    /** The category whose products only the application's own tests order. */
    static final String TESTED = "category 1";

    static final int LAST_TESTED = 10;
    static final int FIRST_PRODUCT = 11;
    static final int LAST_PRODUCT = 50;

    private static final String ROLE = """
            CREATE ROLE %1$s LOGIN PASSWORD '%2$s';
            GRANT CREATE ON DATABASE %3$s TO %1$s;
            GRANT SET ON PARAMETER session_replication_role TO %1$s;
            ALTER ROLE %1$s IN DATABASE %3$s SET search_path = shop
            """;

    private static final String TABLES = """
            CREATE SCHEMA shop;
            CREATE TABLE users (id bigserial PRIMARY KEY, email text NOT NULL UNIQUE, name text NOT NULL);
            CREATE TABLE orders (id bigserial PRIMARY KEY, user_id bigint NOT NULL REFERENCES users, lines integer NOT NULL, placed timestamptz NOT NULL DEFAULT now());
            CREATE INDEX ON orders (user_id);
            CREATE TABLE categories (id integer PRIMARY KEY, name text NOT NULL UNIQUE);
            CREATE TABLE products (id integer PRIMARY KEY, category_id integer NOT NULL REFERENCES categories, title text NOT NULL);
            CREATE TABLE items (order_id bigint NOT NULL REFERENCES orders, line integer NOT NULL, product_id integer NOT NULL REFERENCES products, PRIMARY KEY (order_id, line));
            CREATE TABLE logins (email text PRIMARY KEY, user_id bigint NOT NULL);
            CREATE SCHEMA reference;
            CREATE VIEW reference.categories AS SELECT * FROM categories;
            CREATE VIEW reference.products AS SELECT * FROM products;
            """;

    private static final String ROWS = """
            INSERT INTO categories SELECT n, 'category ' || n FROM generate_series(1, 5) n;
            INSERT INTO products SELECT n, (n - 1) / 10 + 1, 'product ' || n FROM generate_series(1, 50) n;
            INSERT INTO users (email, name) SELECT 'u' || n || '@example.org', 'user ' || n FROM generate_series(1, %1$s) n;
            INSERT INTO logins SELECT email, id FROM users;
            INSERT INTO orders (user_id, lines) SELECT n %% %1$s + 1, 2 FROM generate_series(1, 5 * %1$s) n;
            INSERT INTO items SELECT id, n, 11 + (id * 7 + n) %% 40 FROM orders, generate_series(0, 1) n;
            """;

    private final TestDatabase database;

    OldShop(TestDatabase database) throws SQLException {
        this.database = database;
        try (Connection connection = database.connect()) {
            Sql.execute(connection, ROLE.formatted(OWNER, PASSWORD, database.name()));
        }
        try (Connection connection = connect()) {
            Sql.execute(connection, TABLES + ROWS.formatted(USERS));
        }
        try (Connection connection = database.connect()) {
            Sql.execute(connection, "ANALYZE");
        }
    }

    Connection connect() throws SQLException {
        return database.connectAs(OWNER, PASSWORD);
    }

    String jdbcUrl() {
        return database.jdbcUrl();
    }

    String uri() {
        return database.uri(OWNER, PASSWORD);
    }

    ServerUrl url() {
        return ServerUrl.parse(uri());
    }

    @Override
    public void close() throws SQLException {
        try (Connection connection = database.connect()) {
            Sql.execute(connection, "DROP OWNED BY %1$s CASCADE; DROP ROLE %1$s".formatted(OWNER));
        }
    }
}
