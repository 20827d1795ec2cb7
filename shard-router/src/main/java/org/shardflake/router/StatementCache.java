/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.stream.Stream;
import org.shardflake.Sharding;

/** A cache of statements over many shards; building a statement takes a tenth of the time that running it does. Thread-safe. */
final class StatementCache {

    /** The maximum number of statements, each of several kilobytes. With 8,192 shards a query has 82. */
    private static final int MOST = 500;

    private final ReentrantLock lock = new ReentrantLock();
    /** The texts, with the most recently used last. */
    private final Map<Key, String> texts = new LinkedHashMap<>(16, 0.75f, true);

    private record Key(String ofAnyShard, List<Integer> shards) {

        Key {
            shards = List.copyOf(shards);
        }
    }

    /**
     * The statement for a query in some shards.
     *
     * @param write makes a statement out of the query's text in each shard
     */
    String of(ShardQuery<?> query, List<Integer> shards, Function<Stream<String>, String> write) {
        Key key = new Key(write.apply(Stream.of(query.template())), shards);
        lock.lock();
        try {
            String text = texts.computeIfAbsent(
                    key, missing -> write.apply(shards.stream().map(shard -> query.sql(Sharding.schema(shard)))));
            if (texts.size() > MOST) {
                texts.remove(texts.keySet().iterator().next());
            }
            return text;
        } finally {
            lock.unlock();
        }
    }
}
