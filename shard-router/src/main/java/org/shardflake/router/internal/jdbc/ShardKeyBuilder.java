/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.jdbc;

import java.sql.SQLException;
import java.sql.SQLType;
import java.sql.ShardingKey;
import java.sql.ShardingKeyBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;

/** Builds a {@link ShardKey} from a uid through JDBC's API for sharding keys. For one thread, as JDBC specifies. */
public final class ShardKeyBuilder implements ShardingKeyBuilder {

    private final List<@Nullable Object> subkeys = new ArrayList<>();

    @Override
    public ShardingKeyBuilder subkey(@Nullable Object subkey, SQLType subkeyType) {
        subkeys.add(subkey);
        return this;
    }

    @Override
    public ShardingKey build() throws SQLException {
        if (subkeys.size() != 1) {
            throw new SQLException(
                    "a sharding key is one uid, but %s subkeys were given".formatted(subkeys.size()), "22023");
        }
        Object uid = subkeys.get(0);
        if (uid instanceof Long || uid instanceof Integer || uid instanceof Short || uid instanceof Byte) {
            return ShardKey.uid(((Number) uid).longValue());
        }
        if (uid instanceof String text) {
            return ShardKey.uid(text);
        }
        if (uid instanceof UUID uuid) {
            return ShardKey.uid(uuid);
        }
        throw new SQLException(
                "a uid is an integer, a String or a UUID, but %s was given"
                        .formatted(uid == null ? "null" : uid.getClass().getName()),
                "22023");
    }
}
