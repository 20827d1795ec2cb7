/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import java.time.LocalDate;
import org.jspecify.annotations.Nullable;

@SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
@Entity
@Table(name = "visits")
public class Visit {

    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    private @Nullable Long id;

    private @Nullable Long ownerId;

    @Column(name = "visit_date")
    private LocalDate date;

    private String description;

    protected Visit() {}

    Visit(@Nullable Long ownerId, LocalDate date, String description) {
        this.ownerId = ownerId;
        this.date = date;
        this.description = description;
    }

    public @Nullable Long getId() {
        return id;
    }

    public LocalDate getDate() {
        return date;
    }

    public String getDescription() {
        return description;
    }
}
