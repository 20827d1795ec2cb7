/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.ShardKey;
import org.shardflake.benchmarks.router.Peer.Photo;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;

/** The router, which follows the catalog, with JDBC inside. */
final class ShardflakeJdbc implements Peer {

    private static final ShardQuery<Photo> PHOTOS =
            ShardQuery.of("SELECT id, uid, title FROM ${shard.schema}.photo", Photo::of);

    private final ShardRouter router;

    ShardflakeJdbc(Layout layout) {
        this(router(layout));
    }

    ShardflakeJdbc(ShardRouter router) {
        this.router = router;
    }

    static ShardRouter router(Layout layout) {
        return ShardRouter.builder()
                .catalog(layout.servers().get(0).url())
                .poolSize(layout.poolSize())
                .build();
    }

    @Override
    public Photo select(long id) throws SQLException {
        ShardKey key = ShardKey.id(id);
        try (Connection connection = router.connection(key)) {
            return HandWritten.select(connection, router.schema(key) + ".photo", id);
        }
    }

    @Override
    public Photo selectInTransaction(long id) throws SQLException {
        return router.read(ShardKey.id(id), tx -> HandWritten.select(tx.connection(), tx.schema() + ".photo", id));
    }

    @Override
    public long insert(long uid, String title) throws SQLException {
        ShardKey key = ShardKey.uid(uid);
        try (Connection connection = router.connection(key)) {
            return HandWritten.insert(connection, router.schema(key) + ".photo", uid, title);
        }
    }

    @Override
    public long insertInTransaction(long uid, String title) throws SQLException {
        return router.write(uid, tx -> HandWritten.insert(tx.connection(), tx.schema() + ".photo", uid, title));
    }

    @Override
    public List<Photo> photos(List<Long> ids) {
        return List.copyOf(router.fetch(ids, PHOTOS).values());
    }

    @Override
    public List<Photo> newest(int limit) {
        return router.newest(limit, PHOTOS);
    }

    @Override
    public void close() {
        router.close();
    }
}
