/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;

@Entity
@Table(name = "types", schema = "reference")
public class PetType {

    @Id
    private long id;

    private String name;

    protected PetType() {}

    public String getName() {
        return name;
    }
}
