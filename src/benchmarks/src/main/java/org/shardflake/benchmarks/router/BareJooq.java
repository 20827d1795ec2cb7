/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jooq.Configuration;
import org.jooq.DSLContext;
import org.jooq.SQLDialect;
import org.jooq.conf.MappedSchema;
import org.jooq.conf.RenderMapping;
import org.jooq.conf.Settings;
import org.jooq.impl.DSL;
import org.jooq.impl.DefaultConfiguration;
import org.jooq.impl.DefaultConnectionProvider;
import org.jspecify.annotations.Nullable;
import org.shardflake.Sharding;
import org.shardflake.benchmarks.router.ShardflakeJooq.PhotoTable;

/** jOOQ on a pool of the right server, which is found by arithmetic, with a mapping of the schema that is made once per shard. */
final class BareJooq implements Peer {

    private final Layout layout;
    private final BareJdbc jdbc;
    private final AtomicReferenceArray<@Nullable Configuration> configurations;

    BareJooq(Layout layout, int newest) {
        this.layout = layout;
        this.jdbc = new BareJdbc(layout, newest);
        this.configurations = new AtomicReferenceArray<>(layout.shards());
    }

    private DSLContext dsl(int shard, Connection connection) {
        Configuration mapped = configurations.get(shard);
        if (mapped == null) {
            mapped = new DefaultConfiguration()
                    .derive(SQLDialect.POSTGRES)
                    .derive(new Settings()
                            .withRenderMapping(new RenderMapping()
                                    .withSchemata(new MappedSchema()
                                            .withInput(PhotoTable.TEMPLATE_SCHEMA)
                                            .withOutput(Sharding.schema(shard)))));
            configurations.set(shard, mapped);
        }
        return DSL.using(mapped.derive(new DefaultConnectionProvider(connection)));
    }

    @Override
    public Photo select(long id) throws SQLException {
        int shard = Layout.shardOfId(id);
        try (Connection connection = jdbc.connection(shard)) {
            return ShardflakeJooq.select(dsl(shard, connection), id);
        }
    }

    @Override
    public Photo selectInTransaction(long id) throws SQLException {
        int shard = Layout.shardOfId(id);
        try (Connection connection = jdbc.connection(shard)) {
            connection.setReadOnly(true);
            connection.setAutoCommit(false);
            Photo photo = ShardflakeJooq.select(dsl(shard, connection), id);
            connection.commit();
            return photo;
        }
    }

    @Override
    public long insert(long uid, String title) throws SQLException {
        int shard = layout.shardOfUid(uid);
        try (Connection connection = jdbc.connection(shard)) {
            return ShardflakeJooq.insert(dsl(shard, connection), uid, title);
        }
    }

    @Override
    public long insertInTransaction(long uid, String title) throws SQLException {
        int shard = layout.shardOfUid(uid);
        try (Connection connection = jdbc.connection(shard)) {
            connection.setAutoCommit(false);
            long id = ShardflakeJooq.insert(dsl(shard, connection), uid, title);
            connection.commit();
            return id;
        }
    }

    /** By JDBC: nobody has written what asks many shards with jOOQ. */
    @Override
    public List<Photo> photos(List<Long> ids) throws SQLException {
        return jdbc.photos(ids);
    }

    /** As {@link #photos}. */
    @Override
    public List<Photo> newest(int limit) throws SQLException {
        return jdbc.newest(limit);
    }

    @Override
    public void close() {
        jdbc.close();
    }
}
