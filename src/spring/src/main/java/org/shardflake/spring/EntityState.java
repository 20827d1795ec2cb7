/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.hibernate.collection.spi.PersistentCollection;
import org.hibernate.engine.spi.SharedSessionContractImplementor;
import org.hibernate.metamodel.mapping.EntityVersionMapping;
import org.hibernate.persister.entity.EntityPersister;
import org.hibernate.type.Type;
import org.jspecify.annotations.Nullable;

/**
 * The properties of an entity that Hibernate and Spring Data change when they save it: its id, its version, the classes of its collections, and
 * fields that are not in the database, such as a list of published events.
 */
final class EntityState {

    private final EntityPersister persister;
    private final SharedSessionContractImplementor session;
    private final @Nullable Object id;
    private final @Nullable Object version;
    /** The positions of properties whose collections are not yet Hibernate's. */
    private final int[] collections;

    private final TransientFields.@Nullable Values others;

    private EntityState(
            EntityPersister persister,
            SharedSessionContractImplementor session,
            @Nullable Object id,
            @Nullable Object version,
            int[] collections,
            TransientFields.@Nullable Values others) {
        this.persister = persister;
        this.session = session;
        this.id = id;
        this.version = version;
        this.collections = collections;
        this.others = others;
    }

    /** @param isMerged whether it is only read, since a merge changes another entity; its collections may not be loaded then */
    static EntityState of(
            Object entity, EntityPersister persister, SharedSessionContractImplementor session, boolean isMerged) {
        Object id = persister.getIdentifier(entity, session);
        Type[] types = persister.getPropertyTypes();
        int[] collections = new int[types.length];
        int count = 0;
        for (int i = 0; i < types.length; i++) {
            if (!isMerged
                    && types[i].isCollectionType()
                    && !(persister.getValue(entity, i) instanceof PersistentCollection<?>)) {
                collections[count++] = i;
            }
        }
        return new EntityState(
                persister,
                session,
                id == null ? null : persister.getIdentifierType().deepCopy(id, persister.getFactory()),
                persister.isVersioned() ? persister.getVersion(entity) : null,
                Arrays.copyOf(collections, count),
                TransientFields.of(entity));
    }

    void takeBack(Object entity) {
        if (!Objects.equals(persister.getIdentifier(entity, session), id)) {
            persister.setIdentifier(entity, id, session);
        }
        EntityVersionMapping versions = persister.getVersionMapping();
        if (versions != null && !Objects.equals(persister.getVersion(entity), version)) {
            versions.getVersionAttribute().setValue(entity, version);
        }
        if (others != null) {
            others.takeBack(entity);
        }
    }

    void takeCollectionsBack(Object entity) {
        for (int i : collections) {
            Object value = persister.getValue(entity, i);
            if (value instanceof PersistentCollection<?> wrapped && wrapped.wasInitialized()) {
                persister.setValue(entity, i, plain(value));
            }
        }
    }

    /** A copy of a collection that belongs to no session. */
    private static Object plain(Object wrapped) {
        if (wrapped instanceof SortedMap<?, ?> map) {
            return new TreeMap<>(map);
        }
        if (wrapped instanceof Map<?, ?> map) {
            return new LinkedHashMap<>(map);
        }
        if (wrapped instanceof SortedSet<?> set) {
            return new TreeSet<>(set);
        }
        if (wrapped instanceof Set<?> set) {
            return new LinkedHashSet<>(set);
        }
        return wrapped instanceof Collection<?> collection ? new ArrayList<>(collection) : wrapped;
    }

    /** A reference to an entity, compared by identity. */
    static final class Key extends WeakReference<Object> {

        private final int hash;

        Key(Object entity, ReferenceQueue<Object> collected) {
            super(entity, collected);
            this.hash = System.identityHashCode(entity);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            if (this == other) {
                return true;
            }
            Object entity = get();
            return entity != null && other instanceof Key key && key.get() == entity;
        }
    }
}
