/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.debezium;

import io.debezium.embedded.Connect;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.RecordChangeEvent;
import io.debezium.engine.format.ChangeEventFormat;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;
import org.shardflake.cdc.ShardOrder;
import org.shardflake.server.ServerUrl;

/** The consumer, a process: an engine of Debezium for each server. What they read is applied to one plain database. It ends when that is complete. */
final class Engines {

    static final String SLOT = "shardflake_cdc_debezium";

    private final Object lock = new Object();
    private final Random crashes = new Random();
    private final Path directory;
    private final PlainDatabase sink;
    private final ShardOrder order;

    private Engines(Path directory, PlainDatabase sink) throws SQLException {
        this.directory = directory;
        this.sink = sink;
        this.order = sink.order();
    }

    /** Reads the servers, db1 and so on, whose URIs follow those of a directory for offsets and of the plain database. */
    public static void main(String[] arguments) throws Exception {
        Engines engines = new Engines(
                Path.of(arguments[0]),
                new PlainDatabase(ServerUrl.parse(arguments[1]).connect("consumer")));
        List<String> servers = List.of(arguments).subList(2, arguments.length);
        for (int i = 0; i < servers.size(); i++) {
            String name = "db" + (i + 1);
            String uri = servers.get(i);
            new Thread(() -> engines.run(name, uri), name).start();
        }
        synchronized (engines.lock) {
            while (!engines.sink.isComplete()) {
                engines.lock.wait();
            }
        }
        System.exit(0); // An engine takes a while to close.
    }

    /** Again after each end, as a service would. */
    private void run(String server, String uri) {
        Properties settings = new Properties();
        settings.putAll(ConnectorSettings.of(server, uri, SLOT));
        settings.putAll(Map.of(
                "offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore",
                "offset.storage.file.filename",
                        directory.resolve(server + ".offsets").toString(),
                "offset.flush.interval.ms", "0",
                "max.batch.size", "100"));
        while (true) {
            DebeziumEngine.create(ChangeEventFormat.of(Connect.class))
                    .using(settings)
                    .using((success, message, error) -> {
                        if (!success && !String.valueOf(error).contains("stopped by the test")) {
                            System.out.println(server + ": " + message + ": " + error);
                        }
                    })
                    .notifying((records, committer) -> {
                        for (RecordChangeEvent<SourceRecord> record : records) {
                            apply(record.record());
                            committer.markProcessed(record);
                        }
                        committer.markBatchFinished();
                    })
                    .build()
                    .run();
            synchronized (lock) {
                sink.count("ends of engines");
            }
            try {
                TimeUnit.MILLISECONDS.sleep(200); // A server may be starting.
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private void apply(SourceRecord record) throws InterruptedException {
        synchronized (lock) {
            try {
                ShardOrder.Turn turn = order.take(record);
                while (turn == ShardOrder.Turn.LATER) {
                    sink.count("waits for another engine");
                    lock.wait(100);
                    turn = order.take(record);
                }
                if (turn == ShardOrder.Turn.PAST) {
                    sink.count("left out");
                } else if (record.topic().endsWith("_journal")) {
                    sink.count("lines of the journal");
                } else {
                    sink.change(
                            order.id(record).orElseThrow(),
                            record.topic().substring("photos.".length()),
                            (Struct) record.key(),
                            (Struct) record.value());
                }
                sink.commit(order, "");
                lock.notifyAll();
            } catch (SQLException | RuntimeException | AssertionError e) {
                e.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
            if (!sink.isComplete() && crashes.nextInt(2000) == 0) {
                throw new IllegalStateException("stopped by the test");
            }
        }
    }
}
