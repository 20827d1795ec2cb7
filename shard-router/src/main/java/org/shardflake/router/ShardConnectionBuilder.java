/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import java.sql.ConnectionBuilder;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.ShardingKey;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeException;

/** Connects to the shard of a sharding key. For one thread, as JDBC specifies. */
final class ShardConnectionBuilder implements ConnectionBuilder {

    private final ShardRouter router;
    private @Nullable ShardingKey key;
    private @Nullable String unsupported;

    ShardConnectionBuilder(ShardRouter router) {
        this.router = router;
    }

    @Override
    public ConnectionBuilder shardingKey(@Nullable ShardingKey shardingKey) {
        this.key = shardingKey;
        return this;
    }

    @Override
    public ConnectionBuilder superShardingKey(@Nullable ShardingKey superShardingKey) {
        return superShardingKey == null ? this : unsupported("shards have no super-sharding key");
    }

    @Override
    public ConnectionBuilder user(@Nullable String username) {
        return unsupported("the router logs in with the credentials it was built with");
    }

    @Override
    public ConnectionBuilder password(@Nullable String password) {
        return unsupported("the router logs in with the credentials it was built with");
    }

    private ConnectionBuilder unsupported(String what) {
        unsupported = what;
        return this;
    }

    @Override
    public Connection build() throws SQLException {
        if (unsupported != null) {
            throw new SQLFeatureNotSupportedException(unsupported);
        }
        if (key == null) {
            throw new SQLException("a connection to a shard needs a sharding key, such as ShardKey.uid(uid)", "08001");
        }
        if (!(key instanceof ShardKey shardKey)) {
            throw new SQLException(
                    "%s is not a ShardKey; make one with ShardKey.uid or this data source's createShardingKeyBuilder()"
                            .formatted(key.getClass().getName()),
                    "08001");
        }
        try {
            return router.connection(shardKey);
        } catch (ShardflakeException | IllegalStateException e) {
            // Frameworks expect the exceptions that JDBC declares.
            throw new SQLException(e.getMessage(), "08001", e);
        }
    }
}
