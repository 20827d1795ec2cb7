/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.Connection;
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
import org.shardflake.benchmarks.router.Peer.BareJdbc;
import org.shardflake.benchmarks.router.ShardflakeJooq.PhotoTable;

/**
 * jOOQ on a pool of the right server, which is found by arithmetic, with a mapping of the schema that is made once per shard. Many
 * shards it asks by JDBC: nobody has written that with jOOQ.
 */
final class BareJooq extends BareJdbc {

    private final AtomicReferenceArray<@Nullable Configuration> configurations;

    BareJooq(Layout layout, int newest) {
        super(layout, newest);
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
    Photo select(Connection connection, int shard, long id) {
        return ShardflakeJooq.select(dsl(shard, connection), id);
    }

    @Override
    long insert(Connection connection, int shard, long uid, String title) {
        return ShardflakeJooq.insert(dsl(shard, connection), uid, title);
    }
}
