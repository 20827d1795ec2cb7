/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.SQLException;
import java.util.List;

/** What is compared: a way to reach the right shard. Thread-safe; whoever opened it closes it. */
interface Peer extends AutoCloseable {

    /** Reads a row by its id, outside a transaction. */
    Photo select(long id) throws SQLException;

    /** Reads a row by its id in a read-only transaction. */
    Photo selectInTransaction(long id) throws SQLException;

    /** Inserts a row, outside a transaction, and returns the id that the database gave it. */
    long insert(long uid, String title) throws SQLException;

    /** Inserts a row in a transaction, and returns the id that the database gave it. */
    long insertInTransaction(long uid, String title) throws SQLException;

    /** The rows of ids of many shards, in any order. */
    List<Photo> photos(List<Long> ids) throws SQLException;

    /** The rows with the highest ids of all shards, the highest first. */
    List<Photo> newest(int limit) throws SQLException;

    @Override
    void close();
}
