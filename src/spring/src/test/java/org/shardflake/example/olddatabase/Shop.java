/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import static org.jooq.impl.DSL.field;
import static org.jooq.impl.DSL.table;

import jakarta.persistence.EntityManager;
import jakarta.persistence.PersistenceContext;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jooq.DSLContext;
import org.shardflake.spring.OnShard;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.annotation.Transactional;

/** The services of the application, written with JPA, jOOQ and JDBC. Their SQL is the same for the old database and for the shards. */
@OnShard("#user")
@Transactional
class Shop {

    private final DSLContext jooq;
    private final JdbcClient jdbc;

    @PersistenceContext
    private EntityManager entities;

    Shop(DSLContext jooq, JdbcClient jdbc) {
        this.jooq = jooq;
        this.jdbc = jdbc;
    }

    public void register(long user, String email, String name) {
        entities.persist(new User(user, email, name));
    }

    public long place(long user, List<Integer> products) {
        Order order = new Order(user, products);
        entities.persist(order);
        return Objects.requireNonNull(order.id());
    }

    /** Adds an item, and counts it in its order. */
    public void add(long user, long order, int product) {
        int lines = Objects.requireNonNull(jooq.update(table("orders"))
                        .set(
                                field("lines", Integer.class),
                                field("lines", Integer.class).plus(1))
                        .where(
                                field("id", Long.class).eq(order),
                                field("user_id", Long.class).eq(user))
                        .returningResult(field("lines", Integer.class))
                        .fetchOne())
                .value1();
        jooq.insertInto(
                        table("items"),
                        field("order_id", Long.class),
                        field("line", Integer.class),
                        field("product_id", Integer.class))
                .values(order, lines - 1, product)
                .execute();
    }

    public void rename(long user, String name) {
        entities.find(User.class, user).rename(name);
    }

    public int renameByJdbc(long user, String name) {
        return jdbc.sql("UPDATE users SET name = ? WHERE id = ?")
                .params(name, user)
                .update();
    }

    /** Deletes an order with its items; returns how many rows that were. */
    public int cancel(long user, long order) {
        int items =
                jdbc.sql("DELETE FROM items WHERE order_id = ?").param(order).update();
        return items
                + jdbc.sql("DELETE FROM orders WHERE id = ? AND user_id = ?")
                        .params(order, user)
                        .update();
    }

    @Transactional(readOnly = true)
    public String name(long user) {
        return entities.find(User.class, user).name();
    }

    /** The products of an order; empty if it is not there. */
    @Transactional(readOnly = true)
    public List<Integer> products(long user, long order) {
        Order found = entities.find(Order.class, order);
        return found == null ? List.of() : List.copyOf(found.products());
    }

    /** The number of items in each order. */
    @Transactional(readOnly = true)
    public Map<Long, Integer> orders(long user) {
        return new TreeMap<>(jooq.select(field("id", Long.class), field("lines", Integer.class))
                .from(table("orders"))
                .where(field("user_id", Long.class).eq(user))
                .fetchMap(field("id", Long.class), field("lines", Integer.class)));
    }

    /** The titles of what was ordered, with their categories. */
    @Transactional(readOnly = true)
    public List<String> titles(long user, long order) {
        return jdbc.sql("""
                        SELECT c.name || ': ' || p.title
                          FROM items i JOIN reference.products p ON p.id = i.product_id JOIN reference.categories c ON c.id = p.category_id
                         WHERE i.order_id = ? ORDER BY i.line
                        """).param(order).query(String.class).list();
    }
}
