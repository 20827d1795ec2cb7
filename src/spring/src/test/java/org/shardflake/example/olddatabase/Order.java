/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import jakarta.persistence.CollectionTable;
import jakarta.persistence.Column;
import jakarta.persistence.ElementCollection;
import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.JoinColumn;
import jakarta.persistence.OrderColumn;
import jakarta.persistence.Table;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An order with its items, whose table has the id of the order and no user. */
@SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
@Entity
@Table(name = "orders")
class Order {

    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    private @Nullable Long id;

    @Column(name = "user_id")
    private long user;

    private int lines;

    @ElementCollection(fetch = FetchType.EAGER)
    @CollectionTable(name = "items", joinColumns = @JoinColumn(name = "order_id"))
    @OrderColumn(name = "line")
    @Column(name = "product_id")
    private List<Integer> products = new ArrayList<>();

    protected Order() {}

    Order(long user, List<Integer> products) {
        this.user = user;
        this.products.addAll(products);
        this.lines = products.size();
    }

    @Nullable
    Long id() {
        return id;
    }

    List<Integer> products() {
        return products;
    }
}
