/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.clinic;

import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import org.jspecify.annotations.Nullable;

/** A pet, whose id the column's default makes. */
@SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
@Entity
public class Pet {

    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    private @Nullable Long id;

    private String name;

    @ManyToOne
    private @Nullable Owner owner;

    protected Pet() {}

    public Pet(String name) {
        this.name = name;
    }

    public @Nullable Long id() {
        return id;
    }

    public String name() {
        return name;
    }

    void belongTo(Owner its) {
        owner = its;
    }
}
