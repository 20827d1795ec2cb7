/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jooq;

import java.sql.Connection;
import java.sql.SQLException;
import org.jooq.ConnectionProvider;
import org.jooq.exception.DataAccessException;
import org.shardflake.ShardKey;
import org.shardflake.router.ShardRouter;

/** Provides each statement with a pooled connection to the server that the shard is on at that time. */
final class ShardConnectionProvider implements ConnectionProvider {

    private final ShardRouter router;
    private final ShardKey shard;

    ShardConnectionProvider(ShardRouter router, ShardKey shard) {
        this.router = router;
        this.shard = shard;
    }

    @Override
    public Connection acquire() {
        return router.connection(shard);
    }

    @Override
    public void release(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            throw new DataAccessException("could not give the connection of %s back".formatted(shard), e);
        }
    }
}
