/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import static org.shardflake.benchmarks.router.PhotoTable.PHOTO;

import java.util.List;
import org.jooq.DSLContext;
import org.shardflake.ShardKey;
import org.shardflake.jooq.JooqRouter;
import org.shardflake.router.ShardRouter;

/** The router, which follows the catalog, with jOOQ inside. */
final class ShardflakeJooq implements Peer {

    private final ShardRouter router;
    private final JooqRouter jooq;

    ShardflakeJooq(Layout layout) {
        router = ShardflakeJdbc.router(layout);
        jooq = new JooqRouter(router, PhotoTable.TEMPLATE_SCHEMA);
    }

    @Override
    public Photo select(long id) {
        return select(jooq.dsl(ShardKey.id(id)), id);
    }

    @Override
    public Photo selectInTransaction(long id) {
        return jooq.read(ShardKey.id(id), dsl -> select(dsl, id));
    }

    private static Photo select(DSLContext dsl, long id) {
        return PhotoTable.photo(dsl.fetchSingle(PHOTO, PHOTO.id.eq(id)));
    }

    @Override
    public long insert(long uid, String title) {
        return insert(jooq.dsl(ShardKey.uid(uid)), uid, title);
    }

    @Override
    public long insertInTransaction(long uid, String title) {
        return jooq.write(uid, dsl -> insert(dsl, uid, title));
    }

    private static long insert(DSLContext dsl, long uid, String title) {
        return dsl.insertInto(PHOTO, PHOTO.uid, PHOTO.title)
                .values(uid, title)
                .returningResult(PHOTO.id)
                .fetchSingle()
                .value1();
    }

    @Override
    public List<Photo> photos(List<Long> ids) {
        return jooq.fetch(ids, PHOTO).values().stream().map(PhotoTable::photo).toList();
    }

    @Override
    public List<Photo> newest(int limit) {
        return jooq.newest(limit, PHOTO).stream().map(PhotoTable::photo).toList();
    }

    @Override
    public void close() {
        router.close();
    }
}
