/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jooq;

import java.sql.ResultSet;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jooq.Condition;
import org.jooq.Configuration;
import org.jooq.DSLContext;
import org.jooq.Field;
import org.jooq.Record;
import org.jooq.SQLDialect;
import org.jooq.Table;
import org.jooq.conf.MappedSchema;
import org.jooq.conf.RenderMapping;
import org.jooq.conf.Settings;
import org.jooq.conf.SettingsTools;
import org.jooq.impl.DSL;
import org.jooq.impl.DefaultConfiguration;
import org.jooq.impl.DefaultConnectionProvider;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeId;
import org.shardflake.Sharding;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;

/**
 * A {@link ShardRouter} for jOOQ: code generated for a template schema, sent to the schema of the right shard.
 *
 * <pre>{@code
 * JooqRouter jooq = new JooqRouter(router, "app");
 * long id = jooq.write(uid, dsl -> dsl.insertInto(PHOTO, PHOTO.UID).values(uid).returning(PHOTO.ID).fetchOne(PHOTO.ID));
 * Photo photo = jooq.read(ShardKey.id(id), dsl -> dsl.fetchOne(PHOTO, PHOTO.ID.eq(id)));
 * }</pre>
 *
 * <p>Maps generated names and {@code DSL.name("app", ...)}, but not names in plain SQL. Thread-safe. Needs no closing.
 */
public final class JooqRouter {

    private static final String PLACEHOLDER = "${shard.schema}";

    /** A schema name that no database has, so that it is never mistaken for a value or a name in a query. */
    private static final String NO_SCHEMA = "shardflake schema " + UUID.randomUUID();

    private final ShardRouter router;
    private final String templateSchema;
    private final Configuration base;
    /** A configuration that renders the placeholder as the schema; {@link ShardQuery} then replaces it by each shard's schema. */
    private final Configuration placeholder;
    /** The configurations, one for each shard, since jOOQ caches reflection and rendering in them. */
    private final AtomicReferenceArray<@Nullable Configuration> configurations;
    /** The configuration for the old database. */
    private volatile @Nullable Configuration old;

    /**
     * Routes with jOOQ's default settings.
     *
     * @param templateSchema the schema that the code was generated from
     */
    public JooqRouter(ShardRouter router, String templateSchema) {
        this(router, templateSchema, new DefaultConfiguration());
    }

    /**
     * Routes with the settings, listeners and converters of a configuration; ignores its connections and dialect.
     *
     * @param templateSchema the schema that the code was generated from
     */
    public JooqRouter(ShardRouter router, String templateSchema, Configuration base) {
        this.router = router;
        this.templateSchema = templateSchema;
        this.base = base.derive(SQLDialect.POSTGRES);
        this.placeholder = mappedTo(NO_SCHEMA);
        this.configurations = new AtomicReferenceArray<>(router.map().sharding().shardCount());
    }

    /**
     * A context whose statements run outside a transaction, each on a pooled connection to the server of the key's shard.
     *
     * <p>When the shard moves, a write fails with SQLSTATE {@code SF001} and the caller must repeat it; {@link #write}
     * does so by itself.
     */
    public DSLContext dsl(ShardKey key) {
        return DSL.using(configuration(router.map().shard(key)));
    }

    /** A context whose statements are part of a transaction. */
    public DSLContext dsl(ShardTransaction tx) {
        boolean isInOldDatabase = !tx.schema().equals(Sharding.schema(tx.shard()));
        Configuration its = isInOldDatabase ? old(tx.schema()) : configuration(tx.shard());
        return DSL.using(its.derive(new DefaultConnectionProvider(tx.connection())));
    }

    /**
     * Runs work in a transaction on the shard of a uid; otherwise as
     * {@link ShardRouter#write(long, org.shardflake.router.ShardWork)}.
     */
    public <T extends @Nullable Object, X extends Exception> T write(long uid, DslWork<T, X> work) throws X {
        return router.write(uid, tx -> work.run(dsl(tx)));
    }

    /**
     * Runs work in a transaction on the shard of a key; otherwise as
     * {@link ShardRouter#write(ShardKey, org.shardflake.router.ShardWork)}.
     */
    public <T extends @Nullable Object, X extends Exception> T write(ShardKey key, DslWork<T, X> work) throws X {
        return router.write(key, tx -> work.run(dsl(tx)));
    }

    /** Runs work in a transaction on the shard in which an id was created. */
    public <T extends @Nullable Object, X extends Exception> T write(ShardflakeId id, DslWork<T, X> work) throws X {
        return write(ShardKey.id(id), work);
    }

    /** Runs work in a read-only transaction on the shard of a uid. */
    public <T extends @Nullable Object, X extends Exception> T read(long uid, DslWork<T, X> work) throws X {
        return router.read(uid, tx -> work.run(dsl(tx)));
    }

    /** Runs work in a read-only transaction on the shard of a key. */
    public <T extends @Nullable Object, X extends Exception> T read(ShardKey key, DslWork<T, X> work) throws X {
        return router.read(key, tx -> work.run(dsl(tx)));
    }

    /** Runs work in a read-only transaction on the shard in which an id was created. */
    public <T extends @Nullable Object, X extends Exception> T read(ShardflakeId id, DslWork<T, X> work) throws X {
        return read(ShardKey.id(id), work);
    }

    /**
     * The records of many ids, with one statement per server.
     *
     * @param table a table whose primary key {@code id} is a Shardflake id
     * @return the records by id, in the order of {@code ids}; an id without a record is left out
     */
    public <R extends Record> Map<Long, R> fetch(Collection<Long> ids, Table<R> table) {
        return router.fetch(ids, everything(table));
    }

    /** The newest records of all shards, the newest first; the table is as for {@link #fetch}. */
    public <R extends Record> List<R> newest(int limit, Table<R> table) {
        return router.newest(limit, everything(table));
    }

    /** The newest records of all shards below an id, as the next page after that id; the table is as for {@link #fetch}. */
    public <R extends Record> List<R> newestBefore(long id, int limit, Table<R> table) {
        return router.newestBefore(id, limit, everything(table));
    }

    /** The newest records that meet a condition; otherwise as {@link #newest(int, Table)}. */
    public <R extends Record> List<R> newest(int limit, Table<R> table, Condition condition) {
        return newestBefore(Long.MAX_VALUE, limit, table, condition);
    }

    /** The newest records that meet a condition; otherwise as {@link #newestBefore(long, int, Table)}. */
    public <R extends Record> List<R> newestBefore(long id, int limit, Table<R> table, Condition condition) {
        return router.newestBefore(id, limit, everything(table, condition));
    }

    /** The number of records in all shards that meet a condition; the table needs no column {@code id}. */
    public long count(Table<?> table, Condition condition) {
        return router.count(query(table, condition));
    }

    private <R extends Record> ShardQuery<R> everything(Table<R> table) {
        return everything(table, DSL.noCondition());
    }

    private <R extends Record> ShardQuery<R> everything(Table<R> table, Condition condition) {
        Field<?> id = table.field("id");
        if (id == null) {
            throw new IllegalArgumentException("table %s has no column id, by which rows are found".formatted(table));
        }
        return query(table, condition);
    }

    private <R extends Record> ShardQuery<R> query(Table<R> table, Condition condition) {
        String sql = DSL.using(placeholder).renderInlined(DSL.selectFrom(table).where(condition));
        if (sql.contains(PLACEHOLDER)) {
            throw new IllegalArgumentException(
                    "a value or a name of the query has %s in it, which stands for the schema of a shard; give the value to ShardQuery.bind"
                            .formatted(PLACEHOLDER));
        }
        return ShardQuery.of(sql.replace("\"" + NO_SCHEMA + "\"", PLACEHOLDER), row -> record(table, row));
    }

    private <R extends Record> R record(Table<R> table, ResultSet row) {
        return DSL.using(base)
                .fetch(CurrentRow.of(row), table.fields())
                .into(table)
                .get(0);
    }

    private Configuration configuration(int shard) {
        Configuration made = configurations.get(shard);
        if (made == null) {
            made = mappedTo(Sharding.schema(shard)).derive(new ShardConnectionProvider(router, ShardKey.shard(shard)));
            // Two threads may make one at once; either result will do.
            configurations.set(shard, made);
        }
        return made;
    }

    private Configuration old(String schema) {
        Configuration made = old;
        if (made == null) {
            made = mappedTo(schema);
            old = made;
        }
        return made;
    }

    private Configuration mappedTo(String schema) {
        Settings settings = SettingsTools.clone(base.settings())
                .withRenderMapping(new RenderMapping()
                        .withSchemata(
                                new MappedSchema().withInput(templateSchema).withOutput(schema)));
        return base.derive(settings);
    }
}
