/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The configurable properties; those not set have the defaults of the router's builder.
 *
 * @param enabled Whether data is in shards. If not, '@OnShard' has no effect, and 'spring.datasource' is used as without the starter.
 * @param catalog URL of the catalog's database, such as postgresql://app@db1/app.
 * @param username Login for all servers and the catalog, instead of the user in their URLs.
 * @param password Password of that login.
 * @param mapCache File to keep a copy of the shard map in, for starting while the catalog is down.
 * @param mapFile File of a shard map that never changes, instead of a catalog, as 'shardflake map export' writes it.
 * @param pollInterval How often to ask the catalog for its version, besides being notified; 5s unless set.
 * @param drainTimeout How long work may go on at a server that has left the map; 30s unless set.
 * @param closeTimeout How long to let work end when the application stops; 30s unless set.
 */
@ConfigurationProperties("shardflake")
record ShardflakeProperties(
        @DefaultValue("true") boolean enabled,
        @Nullable String catalog,
        @Nullable String username,
        @Nullable String password,
        @Nullable Path mapCache,
        @Nullable Path mapFile,
        @Nullable Duration pollInterval,
        @Nullable Duration drainTimeout,
        @Nullable Duration closeTimeout,
        @DefaultValue Pool pool,
        @DefaultValue Retry retry,
        @DefaultValue Jooq jooq,
        @Nullable OldDatabase oldDatabase) {

    /**
     * The settings of the connections to each server.
     *
     * @param size Maximum number of connections to a server; 10 unless set.
     * @param connectionTimeout How long to wait for a connection, 250ms or more; 5s unless set.
     * @param statementTimeout How long a statement may take before its server ends it, 0 for no limit; 60s unless set.
     * @param cachedStatements How many prepared statements to keep for a connection; 4000 unless set.
     * @param driver Connection properties of PostgreSQL's JDBC driver, such as reWriteBatchedInserts.
     */
    record Pool(
            @Nullable Integer size,
            @Nullable Duration connectionTimeout,
            @Nullable Duration statementTimeout,
            @Nullable Integer cachedStatements,
            @DefaultValue Map<String, String> driver) {}

    /**
     * The limits for running work again while a shard moves.
     *
     * @param maxTries How often to run work, including the first time; 500 unless set.
     * @param deadline How long after the first try another may begin; 30s unless set.
     * @param serializationFailures Whether to also run work again after serialization failures and deadlocks.
     */
    record Retry(
            @Nullable Integer maxTries,
            @Nullable Duration deadline,
            @DefaultValue("false") boolean serializationFailures) {}

    /**
     * The database that shards leave one by one, by 'shardflake adopt cutover'. Work on a shard that has not left it is sent there.
     *
     * @param url URL of the old database, such as postgresql://app@old/app.
     * @param schema Schema of its tables.
     * @param darkReads Share of the transactions that only read there, 0 to 1, that are run again on the copied rows and compared.
     * @param darkReadLag How far the copy may be behind; rows that differ are compared again after this time.
     */
    record OldDatabase(
            @Nullable String url,
            @DefaultValue("public") String schema,
            @DefaultValue("0") double darkReads,
            @DefaultValue("1m") Duration darkReadLag) {}

    /**
     * The settings of the router for jOOQ.
     *
     * @param schema Schema that jOOQ's code was generated from. If set, there is a bean JooqRouter.
     */
    record Jooq(@Nullable String schema) {}
}
