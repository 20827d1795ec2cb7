/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.debezium;

import io.debezium.embedded.Connect;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.RecordChangeEvent;
import io.debezium.engine.format.ChangeEventFormat;
import java.io.IOException;
import java.util.Map;
import java.util.Properties;
import java.util.function.Consumer;
import org.apache.kafka.connect.source.SourceRecord;

/** An engine of Debezium that runs in a thread of its own and forgets its offsets. */
final class EngineThread implements AutoCloseable {

    private final DebeziumEngine<?> engine;
    private final Thread thread;

    EngineThread(Map<String, String> settings, Consumer<SourceRecord> consumer) {
        Properties all = new Properties();
        all.putAll(settings);
        all.put("offset.storage", "org.apache.kafka.connect.storage.MemoryOffsetBackingStore");
        engine = DebeziumEngine.create(ChangeEventFormat.of(Connect.class))
                .using(all)
                .notifying((records, committer) -> {
                    for (RecordChangeEvent<SourceRecord> record : records) {
                        consumer.accept(record.record());
                        committer.markProcessed(record);
                    }
                    committer.markBatchFinished();
                })
                .build();
        thread = new Thread(engine);
        thread.start();
    }

    @Override
    public void close() throws IOException, InterruptedException {
        engine.close();
        thread.join();
    }
}
