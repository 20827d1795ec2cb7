/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.jpa;

import jakarta.persistence.EntityManager;
import jakarta.persistence.PersistenceContext;
import java.util.function.Function;
import org.shardflake.spring.OnShard;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;

/** Work of a test in a transaction on the shard of a uid. */
@OnShard("#uid")
@Transactional
public class PhotoWork {

    @PersistenceContext
    private EntityManager entities;

    public <T> T in(long uid, Function<EntityManager, T> work) {
        return work.apply(entities);
    }

    @Transactional(readOnly = true)
    public <T> T read(long uid, Function<EntityManager, T> work) {
        return work.apply(entities);
    }

    @Transactional(propagation = Propagation.REQUIRES_NEW)
    public <T> T inNew(long uid, Function<EntityManager, T> work) {
        return work.apply(entities);
    }

    @OnShard(value = "#uid", retry = false)
    public <T> T once(long uid, Function<EntityManager, T> work) {
        return work.apply(entities);
    }
}
