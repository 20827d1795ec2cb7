/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import org.shardflake.router.ShardAttempt;
import org.shardflake.router.ShardRouter;
import org.springframework.jdbc.datasource.AbstractDataSource;

/** Connects to the shard that the calling thread is on, because of {@link OnShard} or otherwise. Thread-safe. */
final class CurrentShardDataSource extends AbstractDataSource {

    static final String NO_SHARD =
            "this thread is on no shard: annotate the method with @OnShard, and call it through its bean, or use ShardTemplate";

    private final ShardRouter router;

    CurrentShardDataSource(ShardRouter router) {
        this.router = router;
    }

    @Override
    public Connection getConnection() throws SQLException {
        ShardAttempt attempt = router.currentAttempt();
        return attempt == null ? NoShardConnection.to(router) : attempt.connection();
    }

    @Override
    public Connection getConnection(String username, String password) throws SQLException {
        throw new SQLFeatureNotSupportedException(
                "the router logs in with shardflake.username and shardflake.password");
    }
}
