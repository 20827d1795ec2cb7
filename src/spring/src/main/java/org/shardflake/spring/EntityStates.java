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
 * The state of entities before a run of a method gave them to Hibernate, which is restored for the next run: new entities are new again. Keeps
 * no entity from being collected. For one thread.
 */
final class EntityStates implements TakeBack {

    /** The states of entities, by identity. */
    private final Map<EntityState.Key, EntityState> states = new LinkedHashMap<>();

    private final ReferenceQueue<Object> collected = new ReferenceQueue<>();

    /** Remembers the current state of an entity, unless an earlier one is remembered. */
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

    /** Restores all entities, ids first, since the order of a set of entities may depend on ids. */
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
