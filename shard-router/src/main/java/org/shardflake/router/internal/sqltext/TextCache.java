/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.sqltext;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * A cache of the properties found in SQL texts, limited by their total size. Thread-safe; a text in use is found without a lock.
 *
 * <p>It has two generations: when the younger is full, it becomes the older, whose texts are dropped unless they were used since.
 */
final class TextCache<V> {

    /** The limit in characters, for both generations together. */
    private static final int MOST = 8 << 20;

    /** The size of an entry without its text, in characters; an estimate. */
    private static final int ENTRY = 100;

    private final int most;
    private volatile Map<String, V> young = new ConcurrentHashMap<>();
    private volatile Map<String, V> old = Map.of();
    private int size;

    TextCache() {
        this(MOST);
    }

    TextCache(int most) {
        this.most = most / 2;
    }

    V get(String text, Function<String, V> read) {
        V known = young.get(text);
        if (known != null) {
            return known;
        }
        known = old.get(text);
        if (known == null) {
            known = read.apply(text);
        }
        int needed = text.length() + ENTRY;
        if (needed <= most / 10) { // A few large ones would push out all others.
            keep(text, known, needed);
        }
        return known;
    }

    private synchronized void keep(String text, V value, int needed) {
        if (size + needed > most) {
            old = young;
            young = new ConcurrentHashMap<>();
            size = 0;
        }
        if (young.put(text, value) == null) {
            size += needed;
        }
    }
}
