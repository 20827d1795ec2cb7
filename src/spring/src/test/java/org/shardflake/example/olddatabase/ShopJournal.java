/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.shardflake.jdbc.Sql;

/** Some users, and what was acknowledged of their writes: the rows that there should be. For one thread at a time. */
final class ShopJournal {

    private static final String ROWS = """
            SELECT 'user ' || id || ' ' || email || ' ' || name FROM %1$s.users UNION ALL
            SELECT 'order ' || id || ' of ' || user_id || ' with ' || lines FROM %1$s.orders UNION ALL
            SELECT 'item ' || order_id || ' ' || line || ' ' || product_id FROM %1$s.items
            """;

    /** A user, and the products of each order. */
    static final class Account {

        private final long id;
        private final String email;
        private final Map<Long, List<Integer>> orders = new TreeMap<>();
        private String name;

        private Account(long id, String email, String name) {
            this.id = id;
            this.email = email;
            this.name = name;
        }

        long id() {
            return id;
        }

        String email() {
            return email;
        }

        String name() {
            return name;
        }

        Map<Long, List<Integer>> orders() {
            return orders;
        }
    }

    private final List<Account> accounts = new ArrayList<>();
    private int writes;

    /** Begins a journal with the users whose ids have this remainder by {@code parts}. */
    static ShopJournal read(OldShop old, int part, int parts) throws SQLException {
        ShopJournal journal = new ShopJournal();
        Map<Long, Account> users = new TreeMap<>();
        try (Connection connection = old.connect()) {
            Sql.list(
                    connection,
                    "SELECT id, email, name FROM users WHERE id %% %s = %s".formatted(parts, part),
                    row -> users.put(row.getLong(1), new Account(row.getLong(1), row.getString(2), row.getString(3))));
            Sql.list(
                    connection,
                    "SELECT user_id, order_id, product_id FROM orders JOIN items ON order_id = id WHERE user_id %% %s = %s ORDER BY line"
                            .formatted(parts, part),
                    row -> users.get(row.getLong(1))
                            .orders
                            .computeIfAbsent(row.getLong(2), order -> new ArrayList<>())
                            .add(row.getInt(3)));
        }
        journal.accounts.addAll(users.values());
        return journal;
    }

    List<Account> accounts() {
        return accounts;
    }

    /** The number of acknowledged transactions. */
    int writes() {
        return writes;
    }

    Account registered(long user, String email, String name) {
        writes++;
        Account account = new Account(user, email, name);
        accounts.add(account);
        return account;
    }

    void placed(Account account, long order, List<Integer> products) {
        writes++;
        account.orders.put(order, new ArrayList<>(products));
    }

    void added(Account account, long order, int product) {
        writes++;
        account.orders.get(order).add(product);
    }

    void renamed(Account account, String name) {
        writes++;
        account.name = name;
    }

    void cancelled(Account account, long order) {
        writes++;
        account.orders.remove(order);
    }

    /** The number of items with products from one number to another. */
    int items(int first, int last) {
        return (int) accounts.stream()
                .flatMap(account -> account.orders.values().stream())
                .flatMap(List::stream)
                .filter(product -> product >= first && product <= last)
                .count();
    }

    /** The rows that there should be. */
    List<String> rows() {
        List<String> rows = new ArrayList<>();
        for (Account account : accounts) {
            rows.add("user %s %s %s".formatted(account.id, account.email, account.name));
            account.orders.forEach((order, products) -> {
                rows.add("order %s of %s with %s".formatted(order, account.id, products.size()));
                for (int line = 0; line < products.size(); line++) {
                    rows.add("item %s %s %s".formatted(order, line, products.get(line)));
                }
            });
        }
        return rows;
    }

    /** The rows that a schema has. */
    static List<String> rows(Connection connection, String schema) throws SQLException {
        return Sql.list(connection, ROWS.formatted(schema), row -> row.getString(1));
    }
}
