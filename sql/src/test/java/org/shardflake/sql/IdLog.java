/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** The ids that one session was given, in the order in which it got them. For one thread. */
final class IdLog {

    private long[] ids = new long[1024];
    private int size;

    void add(long id) {
        if (size == ids.length) {
            ids = Arrays.copyOf(ids, size * 2);
        }
        ids[size++] = id;
    }

    void addAll(long[] more) {
        for (long id : more) {
            add(id);
        }
    }

    long[] ids() {
        return Arrays.copyOf(ids, size);
    }

    void assertIncreasing() {
        for (int i = 1; i < size; i++) {
            if (ids[i] <= ids[i - 1]) {
                assertThat(ids[i]).as("id %s of the session", i).isGreaterThan(ids[i - 1]);
            }
        }
    }

    /** All ids of several sessions in order; a repeated one stands beside its twin. */
    static long[] sorted(List<IdLog> logs) {
        return logs.stream()
                .flatMap(log -> Stream.of(log.ids()))
                .flatMapToLong(Arrays::stream)
                .sorted()
                .toArray();
    }

    static long duplicates(long[] sorted) {
        long duplicates = 0;
        for (int i = 1; i < sorted.length; i++) {
            if (sorted[i] == sorted[i - 1]) {
                duplicates++;
            }
        }
        return duplicates;
    }
}
