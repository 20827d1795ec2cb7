/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.sql;

import java.time.Duration;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.router.ShardRouter;

/** Makes the router of a command, which logs in as commands do. */
final class SqlRouter {

    private SqlRouter() {}

    /** The caller closes it. */
    static ShardRouter open(CatalogMixin catalog, int connections) {
        return ShardRouter.builder()
                .catalog(catalog.url().pinned())
                .poolSize(connections)
                .connectionTimeout(Duration.ofSeconds(3))
                .statementTimeout(Duration.ZERO)
                .closeTimeout(Duration.ZERO)
                .customizePools((server, pool) -> {
                    // The server's own URL, as all commands, not that for applications. Users' SQL finds what is in
                    // public.
                    PGSimpleDataSource source =
                            catalog.urlOf(server).pinned("public").dataSource();
                    if (source.getServerNames().length > 1) {
                        source.setTargetServerType("primary");
                    }
                    source.setApplicationName("shardflake sql");
                    pool.setDataSource(source);
                })
                .build();
    }
}
