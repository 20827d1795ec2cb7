/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.util.function.IntConsumer;
import java.util.regex.Pattern;
import org.shardflake.server.ServerUrl;

/**
 * An old database that shards leave one by one. A transaction there asks whether its shard has left, and keeps it there until it ends.
 *
 * @param schema where its tables are; a name that needs no quotes, so that it stands for the schema of a shard in any SQL
 * @param left called with a shard that the database says has left
 * @param samples takes what some transactions have read
 */
public record OldDatabase(ServerUrl url, String schema, IntConsumer left, ReadSamples samples) {

    private static final Pattern NAME = Pattern.compile("[a-z_][a-z0-9_]{0,62}");

    public OldDatabase {
        if (!NAME.matcher(schema).matches()) {
            throw new IllegalArgumentException(
                    "the schema of the old database is \"%s\", allowed: 1 to 63 of a-z 0-9 _, not beginning with a digit"
                            .formatted(schema));
        }
    }

    /** The same database with another callback for shards that have left. */
    public OldDatabase telling(IntConsumer receiver) {
        return new OldDatabase(url, schema, receiver, samples);
    }

    /** The same database with another receiver of what is read. */
    public OldDatabase sampling(ReadSamples receiver) {
        return new OldDatabase(url, schema, left, receiver);
    }
}
