/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.lang.ref.ReferenceQueue;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.hibernate.engine.spi.SharedSessionContractImplementor;
import org.hibernate.persister.entity.EntityPersister;
import org.shardflake.router.TakeBack;

/**
 * Entities as they were before one run of a method gave them to Hibernate, so that the next run finds them so: new ones are new again. Keeps
 * no entity from being collected. For one thread.
 */
final class EntityStates implements TakeBack {

    /** By the identity of the entity. */
    private final Map<EntityState.Key, EntityState> states = new LinkedHashMap<>();

    private final ReferenceQueue<Object> collected = new ReferenceQueue<>();

    /** Remembers how an entity is now, if it was not remembered before. */
    void remember(
            Object entity, EntityPersister persister, SharedSessionContractImplementor session, boolean isMerged) {
        for (Object key = collected.poll(); key != null; key = collected.poll()) {
            states.remove(key);
        }
        EntityState.Key key = new EntityState.Key(entity, collected);
        if (!states.containsKey(key)) {
            states.put(key, EntityState.of(entity, persister, session, isMerged));
        }
    }

    /** Ids first, since the order of a set of entities may depend on them. */
    @Override
    public void takeBack() {
        List<Runnable> collections = new ArrayList<>();
        states.forEach((key, state) -> {
            Object entity = key.get();
            if (entity != null) {
                state.takeBack(entity);
                collections.add(() -> state.takeCollectionsBack(entity));
            }
        });
        collections.forEach(Runnable::run);
        states.clear();
    }
}
