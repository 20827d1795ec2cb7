/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.jpa;

import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Table;

/** A photo whose id the column's default makes. */
@SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
@Entity
@Table(name = "photo")
public class IdentityPhoto {

    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    private Long id;

    private long uid;
    private String title;
    private int version;

    protected IdentityPhoto() {}

    public IdentityPhoto(long uid, String title) {
        this.uid = uid;
        this.title = title;
    }

    public Long id() {
        return id;
    }
}
