/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Merges people's edits with a new proposal. What both have changed stays as people wrote it, and is named. */
final class PlanMerge {

    /**
     * The properties that are merged entry by entry; tables, lookups and changesets are taken as a whole, since parts of two versions may not
     * fit together.
     */
    private static final Set<String> MAPPINGS = Set.of("", "source", "tables", "lookups", "changelogs");

    private final List<String> conflicts = new ArrayList<>();

    List<String> conflicts() {
        return List.copyOf(conflicts);
    }

    /**
     * Merges two plans, each as {@link AdoptionPlanFile#properties} has it.
     *
     * @param made what was made last time
     * @param edited what the file has
     * @param fresh what would be made now
     */
    Map<String, Object> merge(Map<String, ?> made, Map<String, ?> edited, Map<String, ?> fresh) {
        return merge("", made, edited, fresh);
    }

    private Map<String, Object> merge(String path, Map<?, ?> made, Map<?, ?> edited, Map<?, ?> fresh) {
        Set<Object> names = new LinkedHashSet<>(edited.keySet());
        names.addAll(fresh.keySet());
        Map<String, Object> merged = new LinkedHashMap<>();
        for (Object name : names) {
            Object value = merge(path, String.valueOf(name), made.get(name), edited.get(name), fresh.get(name));
            if (value != null) {
                merged.put(String.valueOf(name), value);
            }
        }
        return merged;
    }

    private @Nullable Object merge(
            String path, String name, @Nullable Object made, @Nullable Object edited, @Nullable Object fresh) {
        String at = path.isEmpty() ? name : path + ": " + name;
        if (path.isEmpty() && name.equals("leftOut")) {
            return mergeLists(list(made), list(edited), list(fresh));
        }
        boolean isMapping = path.isEmpty() && MAPPINGS.contains(name);
        if (isMapping && edited instanceof Map<?, ?> mine && fresh instanceof Map<?, ?> theirs) {
            return merge(at, made instanceof Map<?, ?> base ? base : Map.of(), mine, theirs);
        }
        if (Objects.equals(edited, made) || Objects.equals(edited, fresh)) {
            return fresh;
        }
        if (!Objects.equals(fresh, made)) {
            conflicts.add("%s is %s in the file, and would now be %s; it was kept"
                    .formatted(at, shown(edited), shown(fresh)));
        }
        return edited;
    }

    private static List<?> list(@Nullable Object value) {
        return value instanceof List<?> list ? list : List.of();
    }

    private static List<Object> mergeLists(List<?> made, List<?> edited, List<?> fresh) {
        List<Object> merged = new ArrayList<>();
        for (Object one : fresh) {
            if (edited.contains(one) || !made.contains(one)) {
                merged.add(one);
            }
        }
        for (Object one : edited) {
            if (!made.contains(one) && !merged.contains(one)) {
                merged.add(one);
            }
        }
        return merged;
    }

    private static String shown(@Nullable Object value) {
        return value == null ? "missing" : String.valueOf(value);
    }
}
