/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.sql;

import java.time.Duration;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.router.ShardRouter;

/** Creates the router of a command, with the command's own login. */
final class SqlRouter {

    private SqlRouter() {}

    /** Opens a router, which the caller closes. */
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
