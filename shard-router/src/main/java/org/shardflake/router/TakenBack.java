/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** The changes of one run that are undone before the next one, the latest first. For one thread. */
final class TakenBack {

    private final Map<Class<?>, TakeBack> ofThisRun = new LinkedHashMap<>(0);
    /** The changes of nested work that has failed. */
    private final List<TakenBack> ofWorkInside = new ArrayList<>(0);

    /** The undo record of this type, created on first use. */
    <T extends TakeBack> T get(Class<T> type, Supplier<T> first) {
        return type.cast(ofThisRun.computeIfAbsent(type, key -> first.get()));
    }

    /** Adds the changes of nested work, to be undone as well. */
    void add(TakenBack inside) {
        if (!inside.isEmpty()) {
            ofWorkInside.add(inside);
        }
    }

    private boolean isEmpty() {
        return ofThisRun.isEmpty() && ofWorkInside.isEmpty();
    }

    /** Undoes all changes, and forgets them. */
    void takeBack() {
        for (int i = ofWorkInside.size() - 1; i >= 0; i--) {
            ofWorkInside.get(i).takeBack();
        }
        ofThisRun.values().forEach(TakeBack::takeBack);
        ofWorkInside.clear();
        ofThisRun.clear();
    }
}
