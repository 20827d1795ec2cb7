/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.photos;

import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardSet;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.server.MoveServer;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Service;

/** Moves shards for the page's button, as {@code shardflake move run} does. */
@Service
class ShardMoves {

    private final ShardRouter router;
    private final ServerUrl catalog;

    ShardMoves(ShardRouter router, @Value("${shardflake.catalog}") String catalog) {
        this.router = router;
        this.catalog = url(catalog);
    }

    /** The URL without its password, which is in PGPASSWORD or ~/.pgpass, as for the command line. */
    private static ServerUrl url(String url) {
        return ServerUrl.parse(url, System.getenv());
    }

    /** Moves a shard to the next server; returns its new placement. */
    synchronized ShardPlacement move(int shard) {
        ShardMap map = router.refresh();
        String from = map.server(shard).name();
        int place = map.servers().indexOf(map.server(shard));
        String to = map.servers().get((place + 1) % map.servers().size()).name();
        Mover mover = new Mover(
                catalog,
                name -> new MoveServer(name, url(map.server(name).url())),
                MoveSettings.DEFAULT,
                MoveListener.NONE);
        Move move = mover.beginOrResume(from, to, ShardSet.of(shard), "asked for on the page");
        mover.carryOut(move, false);
        router.refresh();
        return router.locate(ShardKey.shard(shard));
    }
}
