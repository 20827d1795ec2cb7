/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.exception.ShardFencedException;
import org.shardflake.sql.FunctionLibrary;

/** Writes that only read, so fast one after the other that most need not ask whether their shard is open. */
class CommitsThatDoNotAskTest {

    private static final int FENCED = 0;
    private static final int ON_THE_SAME_SERVER = 2;
    private static final int ON_THE_OTHER_SERVER = 1;
    private static final int FENCES = 150;

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(2).prepareOnce("library", FunctionLibrary::deploy);

    private static PhotoShards shards;

    private ShardRouter router;
    private final Semaphore tries = new Semaphore(0);
    private final AtomicInteger tooLate = new AtomicInteger();
    private volatile boolean isOver;

    /** Is there from after a fence has gone up until before it is taken down, another each time. */
    private volatile @Nullable Object closed;

    @BeforeAll
    static void createShards() throws SQLException {
        shards = PhotoShards.create(postgres, 2, 4);
    }

    @BeforeEach
    void start() {
        router = shards.router()
                .map(shards.map())
                .retryPolicy(RetryPolicy.DEFAULT.withMaxTries(1))
                .build();
    }

    @AfterEach
    void close() {
        router.close();
    }

    @Test
    void noneThatBeganWhenAFenceWasUpSucceeds() throws Exception {
        ExecutorService workers = Executors.newFixedThreadPool(3);
        try (Connection connection = shards.database(0).connect();
                Statement statement = connection.createStatement()) {
            List<Future<?>> works = new ArrayList<>();
            works.add(workers.submit(() -> work(FENCED)));
            works.add(workers.submit(() -> work(FENCED)));
            works.add(workers.submit(() -> work(ON_THE_SAME_SERVER))); // Its answers are leases, too.
            for (int i = 0; i < FENCES; i++) {
                awaitTries();
                statement.execute("SELECT shardflake.fence_shard(%s)".formatted(FENCED));
                closed = new Object();
                awaitTries();
                closed = null;
                statement.execute("SELECT shardflake.unfence_shard(%s)".formatted(FENCED));
            }
            isOver = true;
            for (Future<?> work : works) {
                work.get(1, TimeUnit.MINUTES);
            }
        } finally {
            isOver = true;
            workers.shutdown();
        }
        assertThat(tooLate).hasValue(0);
    }

    private void work(int shard) {
        while (!isOver) {
            Object before = closed;
            try {
                router.<Long, SQLException>write(shard, tx -> Photos.count(tx, shard));
                if (shard == FENCED && before != null && before == closed) {
                    tooLate.incrementAndGet();
                }
            } catch (ShardFencedException e) {
                // As it should be while the fence is up.
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
            tries.release();
        }
    }

    private void awaitTries() throws InterruptedException {
        tries.drainPermits();
        assertThat(tries.tryAcquire(20, 1, TimeUnit.MINUTES)).isTrue();
    }

    @Test
    void someDoNot() throws SQLException {
        shards.execute(1, """
                CREATE SEQUENCE public.questions;
                CREATE OR REPLACE FUNCTION shardflake.require_open(sequence regclass) RETURNS bigint LANGUAGE sql
                    RETURN CASE WHEN nextval('public.questions') > 0 THEN pg_sequence_last_value('shardflake.last_fence') END
                """);
        int commits = 2000;
        for (int i = 0; i < commits; i++) {
            router.<Long, SQLException>write(ON_THE_OTHER_SERVER, tx -> Photos.count(tx, ON_THE_OTHER_SERVER));
        }
        assertThat(shards.number(1, "SELECT last_value FROM public.questions")).isBetween(2L, commits - 1L);
    }
}
