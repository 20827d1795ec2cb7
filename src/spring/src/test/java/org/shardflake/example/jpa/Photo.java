/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.jpa;

import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.Version;
import org.jspecify.annotations.Nullable;
import org.shardflake.spring.GeneratedShardflakeId;

@SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
@Entity
public class Photo {

    @Id
    @GeneratedShardflakeId
    private Long id;

    private long uid;
    private String title;

    @Version
    private int version;

    @ManyToOne(fetch = FetchType.LAZY)
    private @Nullable Album album;

    protected Photo() {}

    public Photo(long uid, String title) {
        this.uid = uid;
        this.title = title;
    }

    public Long id() {
        return id;
    }

    public String title() {
        return title;
    }

    public void rename(String title) {
        this.title = title;
    }

    public @Nullable Album album() {
        return album;
    }

    public void putInto(Album album) {
        this.album = album;
    }
}
