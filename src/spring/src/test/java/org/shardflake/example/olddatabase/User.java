/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import org.jspecify.annotations.Nullable;

/** A user of the shop. The application gives the id, since it is the key. */
@SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
@Entity
@Table(name = "users")
class User {

    @Id
    private @Nullable Long id;

    private String email;
    private String name;

    protected User() {}

    User(long id, String email, String name) {
        this.id = id;
        this.email = email;
        this.name = name;
    }

    String name() {
        return name;
    }

    void rename(String other) {
        name = other;
    }
}
