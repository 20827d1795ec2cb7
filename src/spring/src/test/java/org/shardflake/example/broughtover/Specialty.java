/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;

@Entity
@Table(name = "specialties", schema = "reference")
public class Specialty {

    @Id
    private long id;

    private String name;

    protected Specialty() {}

    public String getName() {
        return name;
    }
}
