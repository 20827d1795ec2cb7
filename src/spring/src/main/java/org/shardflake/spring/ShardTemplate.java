/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.router.ShardRouter;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Methods that do what {@link OnShard} and {@code @Transactional} do.
 *
 * <pre>{@code
 * long id = shards.write(ShardKey.uid(uid), () -> jdbc.sql("INSERT INTO photo ...").query(Long.class).single());
 * }</pre>
 *
 * <p>Thread-safe. Work may be run again, as that of {@code OnShard}.
 */
public final class ShardTemplate {

    private final ShardRouter router;
    private final TransactionTemplate writing;
    private final TransactionTemplate reading;

    public ShardTemplate(ShardRouter router, PlatformTransactionManager transactions) {
        this.router = router;
        this.writing = new TransactionTemplate(transactions);
        this.reading = new TransactionTemplate(transactions);
        reading.setReadOnly(true);
    }

    /** Runs work in a transaction on the shard of a key, and returns what it returns. */
    public <T extends @Nullable Object> T write(ShardKey key, Supplier<T> work) {
        return inTransaction(key, writing, work);
    }

    /** Runs work that returns nothing in a transaction on the shard of a key. */
    public void run(ShardKey key, Runnable work) {
        write(key, () -> {
            work.run();
            return true;
        });
    }

    /** Runs work in a read-only transaction on the shard of a key, and returns what it returns. */
    public <T extends @Nullable Object> T read(ShardKey key, Supplier<T> work) {
        return inTransaction(key, reading, work);
    }

    @SuppressWarnings("NullAway") // Null only if the work returns null.
    private <T extends @Nullable Object> T inTransaction(
            ShardKey key, TransactionTemplate transaction, Supplier<T> work) {
        return router.<T, RuntimeException>attempt(key, true, attempt -> transaction.execute(status -> work.get()));
    }

    /** Runs work on the shard of a key without a transaction, as {@link OnShard} does on its own. */
    public <T extends @Nullable Object> T on(ShardKey key, Supplier<T> work) {
        return router.<T, RuntimeException>attempt(key, true, attempt -> work.get());
    }
}
