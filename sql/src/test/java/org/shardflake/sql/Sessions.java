/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.shardflake.cluster.TestDatabase;

/** Runs the same work in many sessions at once, each with a connection and a thread of its own. */
final class Sessions {

    /** What one session does. */
    interface Work<T> {
        T run(int session, Connection connection) throws Exception;
    }

    private Sessions() {}

    /** Starts all sessions together and returns what each returned; the first failure is thrown. */
    static <T> List<T> run(TestDatabase database, int sessions, Work<T> work) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(sessions);
        try {
            CountDownLatch connected = new CountDownLatch(sessions);
            List<Future<T>> futures = new ArrayList<>();
            for (int i = 0; i < sessions; i++) {
                int session = i;
                futures.add(threads.submit(() -> {
                    try (Connection connection = database.connect()) {
                        connected.countDown();
                        connected.await();
                        return work.run(session, connection);
                    }
                }));
            }
            List<T> results = new ArrayList<>();
            for (Future<T> future : futures) {
                results.add(future.get());
            }
            return results;
        } finally {
            threads.shutdownNow();
        }
    }
}
