/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.jpa;

import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.Id;
import jakarta.persistence.OneToMany;
import java.util.ArrayList;
import java.util.List;
import org.shardflake.spring.GeneratedShardflakeId;

@SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
@Entity
public class Album {

    @Id
    @GeneratedShardflakeId
    private Long id;

    private long uid;
    private String name;

    @OneToMany(mappedBy = "album", fetch = FetchType.LAZY)
    private final List<Photo> photos = new ArrayList<>();

    protected Album() {}

    public Album(long uid, String name) {
        this.uid = uid;
        this.name = name;
    }

    public Long id() {
        return id;
    }

    public String name() {
        return name;
    }

    public List<Photo> photos() {
        return photos;
    }
}
