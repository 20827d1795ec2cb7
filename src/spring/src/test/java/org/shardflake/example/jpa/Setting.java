/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.jpa;

import jakarta.persistence.Cacheable;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import org.hibernate.annotations.Cache;
import org.hibernate.annotations.CacheConcurrencyStrategy;

/** Of which every shard has one with the same id. */
@SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
@Entity
@Cacheable
@Cache(usage = CacheConcurrencyStrategy.READ_WRITE)
public class Setting {

    @Id
    private String name;

    private String content;

    protected Setting() {}

    public Setting(String name, String content) {
        this.name = name;
        this.content = content;
    }

    public String content() {
        return content;
    }
}
