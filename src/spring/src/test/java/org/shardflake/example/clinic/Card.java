/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.clinic;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.PostLoad;
import jakarta.persistence.PostPersist;
import jakarta.persistence.Transient;
import jakarta.persistence.Version;
import org.jspecify.annotations.Nullable;
import org.springframework.data.domain.Persistable;

/** A card whose id its maker chooses, so it says itself whether it is new. */
@SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
@Entity
public class Card implements Persistable<String> {

    @Id
    private String number;

    @Version
    private @Nullable Long version;

    @Transient
    private boolean isNew = true;

    protected Card() {}

    public Card(String number) {
        this.number = number;
    }

    @Override
    public String getId() {
        return number;
    }

    @Override
    public boolean isNew() {
        return isNew;
    }

    @PostPersist
    @PostLoad
    void saved() {
        isNew = false;
    }

    public @Nullable Long version() {
        return version;
    }
}
