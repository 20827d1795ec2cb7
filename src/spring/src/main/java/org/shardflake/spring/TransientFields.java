/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ConcurrentReferenceHashMap;
import org.springframework.util.ReflectionUtils;

/**
 * The fields of an entity that are not stored in the database. Spring Data empties its list of events when it has published them, and entities
 * tell in such fields whether they are new.
 */
final class TransientFields {

    private static final Map<Class<?>, List<Field>> KNOWN = new ConcurrentReferenceHashMap<>();

    private TransientFields() {}

    /** The values of one entity. */
    record Values(List<Field> fields, List<@Nullable Object> values, List<@Nullable List<?>> contents) {

        /** Restores the fields, including the contents of collections, which are changed in place. */
        @SuppressWarnings("unchecked") // They are the collection's own elements.
        void takeBack(Object entity) {
            for (int i = 0; i < fields.size(); i++) {
                List<?> content = contents.get(i);
                if (!Modifier.isFinal(fields.get(i).getModifiers())) {
                    ReflectionUtils.setField(fields.get(i), entity, values.get(i));
                }
                if (values.get(i) instanceof Collection<?> collection
                        && content != null
                        && !content.equals(new ArrayList<>(collection))) {
                    collection.clear();
                    ((Collection<@Nullable Object>) collection).addAll(content);
                }
            }
        }
    }

    /** The values of an entity, null if it has no such fields. */
    static @Nullable Values of(Object entity) {
        List<Field> fields = KNOWN.computeIfAbsent(entity.getClass(), TransientFields::find);
        if (fields.isEmpty()) {
            return null;
        }
        List<@Nullable Object> values = new ArrayList<>(fields.size());
        List<@Nullable List<?>> contents = new ArrayList<>(fields.size());
        for (Field field : fields) {
            Object value = ReflectionUtils.getField(field, entity);
            values.add(value);
            contents.add(value instanceof Collection<?> collection ? new ArrayList<>(collection) : null);
        }
        return new Values(fields, values, contents);
    }

    private static List<Field> find(Class<?> type) {
        List<Field> found = new ArrayList<>();
        ReflectionUtils.doWithFields(type, field -> {
            if (!Modifier.isStatic(field.getModifiers()) && isTransient(field) && isAccessible(field)) {
                found.add(field);
            }
        });
        return List.copyOf(found);
    }

    /**
     * Whether a field is transient, by the keyword or by an annotation of JPA or Spring Data. Hibernate's own fields in an entity that it has
     * changed are not ours.
     */
    private static boolean isTransient(Field field) {
        return !field.getName().startsWith("$$_hibernate_")
                && (Modifier.isTransient(field.getModifiers())
                        || Arrays.stream(field.getAnnotations())
                                .anyMatch(annotation -> annotation
                                        .annotationType()
                                        .getSimpleName()
                                        .equals("Transient")));
    }

    private static boolean isAccessible(Field field) {
        try {
            return field.trySetAccessible();
        } catch (InaccessibleObjectException | SecurityException e) {
            return false;
        }
    }
}
