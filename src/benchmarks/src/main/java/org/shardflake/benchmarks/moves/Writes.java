/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.shardflake.ShardKey;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;
import org.shardflake.router.ShardWork;

/** The writes of an application through the router, and those that were acknowledged. Thread-safe. */
final class Writes {

    private final ShardRouter router;
    private final AtomicLongArray photos;
    private final AtomicLong transactions = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    private volatile String firstFailure = "";

    Writes(ShardRouter router, int shards) {
        this.router = router;
        this.photos = new AtomicLongArray(shards);
    }

    /** Inserts a photo, and says whether that was acknowledged. */
    boolean insert(int shard) {
        return write(shard, tx -> insertPhoto(tx, shard));
    }

    /** Inserts a photo with a tag and changes its title, in one transaction, and says whether that was acknowledged. */
    boolean insertAndChange(int shard) {
        return write(shard, tx -> {
            long id = insertPhoto(tx, shard);
            Sql.update(tx.connection(), "INSERT INTO %s.tag (photo_id) VALUES (?)".formatted(tx.schema()), id);
            Sql.update(
                    tx.connection(), "UPDATE %s.photo SET title = 'changed' WHERE id = ?".formatted(tx.schema()), id);
            return id;
        });
    }

    private static long insertPhoto(ShardTransaction tx, long uid) throws SQLException {
        return Sql.number(
                tx.connection(),
                "INSERT INTO %s.photo (uid, title) VALUES (?, 'new') RETURNING id".formatted(tx.schema()),
                uid);
    }

    private boolean write(int shard, ShardWork<Long, SQLException> work) {
        try {
            // The smallest uid of a shard is its number.
            router.write(ShardKey.uid(shard), work);
        } catch (SQLException | RuntimeException e) {
            if (failed.incrementAndGet() == 1) {
                firstFailure = e.toString();
            }
            return false;
        }
        photos.incrementAndGet(shard);
        transactions.incrementAndGet();
        return true;
    }

    /** The number of acknowledged photos of a shard. */
    long photos(int shard) {
        return photos.get(shard);
    }

    /** The number of acknowledged transactions. */
    long transactions() {
        return transactions.get();
    }

    /** The number of transactions that ended with an exception. */
    long failed() {
        return failed.get();
    }

    /** The first of these exceptions, empty if there was none. */
    String firstFailure() {
        return firstFailure;
    }
}
