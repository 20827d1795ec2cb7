/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import static org.shardflake.benchmarks.router.ShardflakeJooq.PhotoTable.PHOTO;

import java.util.List;
import java.util.Objects;
import org.jooq.DSLContext;
import org.jooq.Record;
import org.jooq.TableField;
import org.jooq.impl.CustomRecord;
import org.jooq.impl.CustomTable;
import org.jooq.impl.DSL;
import org.jooq.impl.SQLDataType;
import org.shardflake.ShardKey;
import org.shardflake.benchmarks.router.Peer.Photo;
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

    static Photo select(DSLContext dsl, long id) {
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

    static long insert(DSLContext dsl, long uid, String title) {
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

    /** The table of photos for jOOQ, as its code generator would describe that of the template schema. */
    static final class PhotoTable extends CustomTable<PhotoTable.PhotoRecord> {

        static final String TEMPLATE_SCHEMA = "app";
        static final PhotoTable PHOTO = new PhotoTable();

        // Not static: they belong to the table that is being made.
        final TableField<PhotoRecord, Long> id = createField(DSL.name("id"), SQLDataType.BIGINT);
        final TableField<PhotoRecord, Long> uid = createField(DSL.name("uid"), SQLDataType.BIGINT);
        final TableField<PhotoRecord, String> title = createField(DSL.name("title"), SQLDataType.VARCHAR);

        /** A row of it. */
        static final class PhotoRecord extends CustomRecord<PhotoRecord> {
            PhotoRecord() {
                super(PHOTO);
            }
        }

        private PhotoTable() {
            super(DSL.name("photo"), DSL.schema(DSL.name(TEMPLATE_SCHEMA)));
        }

        @Override
        public Class<? extends PhotoRecord> getRecordType() {
            return PhotoRecord.class;
        }

        static Photo photo(Record row) {
            return new Photo(
                    Objects.requireNonNull(row.get(PHOTO.id)),
                    Objects.requireNonNull(row.get(PHOTO.uid)),
                    Objects.requireNonNull(row.get(PHOTO.title)));
        }
    }
}
