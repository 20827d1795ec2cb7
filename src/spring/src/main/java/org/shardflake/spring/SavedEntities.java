/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.io.Serial;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.function.Supplier;
import org.hibernate.HibernateException;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.engine.spi.SharedSessionContractImplementor;
import org.hibernate.event.service.spi.EventListenerRegistry;
import org.hibernate.event.spi.EventEngine;
import org.hibernate.event.spi.EventType;
import org.hibernate.event.spi.MergeContext;
import org.hibernate.event.spi.MergeEvent;
import org.hibernate.event.spi.MergeEventListener;
import org.hibernate.event.spi.PersistContext;
import org.hibernate.event.spi.PersistEvent;
import org.hibernate.event.spi.PersistEventListener;
import org.hibernate.proxy.HibernateProxy;
import org.jspecify.annotations.Nullable;
import org.shardflake.router.ShardAttempt;
import org.shardflake.router.ShardRouter;

/** Sees each entity before Hibernate saves it, also by a cascade, and makes the current run remember its state. Thread-safe. */
final class SavedEntities implements PersistEventListener, MergeEventListener {

    @Serial
    private static final long serialVersionUID = 1L;

    /** The events of Hibernate 6.6 that Hibernate 7 does not have. */
    private static final List<String> OF_HIBERNATE_6 = List.of("save", "update", "save-update");

    private final transient Supplier<ShardRouter> router;

    private SavedEntities(Supplier<ShardRouter> router) {
        this.router = router;
    }

    static void listenTo(SessionFactoryImplementor sessions, Supplier<ShardRouter> router) {
        SavedEntities listener = new SavedEntities(router);
        EventEngine events = sessions.getEventEngine();
        EventListenerRegistry listeners = events.getListenerRegistry();
        listeners.prependListeners(EventType.PERSIST, listener);
        listeners.prependListeners(EventType.PERSIST_ONFLUSH, listener);
        listeners.prependListeners(EventType.MERGE, listener);
        for (String name : OF_HIBERNATE_6) {
            EventType<?> type = events.findRegisteredEventType(name);
            if (type != null) {
                listener.listenTo(type, listeners);
            }
        }
    }

    private <T> void listenTo(EventType<T> type, EventListenerRegistry listeners) {
        Class<T> wanted = type.baseListenerInterface();
        T proxy = wanted.cast(Proxy.newProxyInstance(
                wanted.getClassLoader(),
                new Class<?>[] {wanted},
                (self, method, arguments) -> switch (method.getName()) {
                    case "equals" -> self == arguments[0];
                    case "hashCode" -> System.identityHashCode(self);
                    case "toString" -> "Shardflake's listener to " + type.eventName();
                    default -> {
                        onEvent(arguments[0]);
                        yield null;
                    }
                }));
        @SuppressWarnings("unchecked")
        T[] one = (T[]) Array.newInstance(wanted, 1);
        one[0] = proxy;
        listeners.prependListeners(type, one);
    }

    private void onEvent(Object event) throws ReflectiveOperationException {
        remember(
                (String) get(event, "getEntityName"),
                get(event, "getObject"),
                (SharedSessionContractImplementor) get(event, "getSession"),
                false);
    }

    private static @Nullable Object get(Object event, String name) throws ReflectiveOperationException {
        Method getter = event.getClass().getMethod(name);
        return getter.invoke(event);
    }

    @Override
    public void onPersist(PersistEvent event) {
        remember(event.getEntityName(), event.getObject(), event.getSession(), false);
    }

    @Override
    public void onPersist(PersistEvent event, PersistContext created) {
        onPersist(event);
    }

    @Override
    public void onMerge(MergeEvent event) {
        remember(event.getEntityName(), event.getOriginal(), event.getSession(), true);
    }

    @Override
    public void onMerge(MergeEvent event, MergeContext copied) {
        onMerge(event);
    }

    private void remember(
            @Nullable String name,
            @Nullable Object entity,
            @Nullable SharedSessionContractImplementor session,
            boolean isMerged) {
        ShardAttempt attempt = router.get().currentAttempt();
        if (attempt == null || entity == null || session == null || entity instanceof HibernateProxy) {
            return;
        }
        try {
            attempt.beforeNextRun(EntityStates.class, EntityStates::new)
                    .remember(entity, session.getEntityPersister(name, entity), session, isMerged);
        } catch (HibernateException | IllegalArgumentException e) {
            // Not an entity, which the next listener says.
        }
    }
}
