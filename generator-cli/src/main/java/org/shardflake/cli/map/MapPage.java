/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.map;

import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.Server;
import org.shardflake.cli.output.HtmlPage;
import org.shardflake.move.Move;
import org.shardflake.move.MoveShard;

/** The shard map as a self-contained HTML page. */
public final class MapPage {

    private MapPage() {}

    public static String of(MapPicture picture, Instant now) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("version", picture.map().version());
        facts.put("drawnAt", now.toString());
        facts.put("epoch", picture.map().layout().epoch().toString());
        facts.put("servers", servers(picture));
        facts.put("placement", placement(picture));
        facts.put("bytes", bytes(picture));
        facts.put("moves", picture.moves().stream().map(MapPage::move).toList());
        return HtmlPage.of(MapPage.class, "map.html", facts);
    }

    private static List<Map<String, Object>> servers(MapPicture picture) {
        List<Map<String, Object>> servers = new ArrayList<>();
        for (Server server : picture.map().servers()) {
            Map<String, Object> facts = new LinkedHashMap<>();
            facts.put("name", server.name());
            facts.put("url", server.url());
            facts.put("shards", picture.map().shards(server).size());
            if (picture.hasSizes()) {
                facts.put("bytes", picture.bytes(server.name()));
            }
            picture.rate(server.name()).ifPresent(rate -> facts.put("rowsPerSecond", Math.round(rate.inserted())));
            servers.add(facts);
        }
        return servers;
    }

    /** The position of each shard's server in the list of servers. */
    private static List<Integer> placement(MapPicture picture) {
        List<Integer> placement = new ArrayList<>();
        for (int shard = 0; shard < picture.map().sharding().shardCount(); shard++) {
            placement.add(picture.map().servers().indexOf(picture.map().server(shard)));
        }
        return placement;
    }

    private static List<Long> bytes(MapPicture picture) {
        List<Long> bytes = new ArrayList<>();
        if (picture.hasSizes()) {
            for (int shard = 0; shard < picture.map().sharding().shardCount(); shard++) {
                bytes.add(picture.bytes().getOrDefault(shard, 0L));
            }
        }
        return bytes;
    }

    private static Map<String, Object> move(Move move) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("move", move.id());
        facts.put("from", move.source());
        facts.put("to", move.target());
        facts.put("phase", move.phase().toString());
        facts.put("shards", move.shards().stream().map(MoveShard::shard).toList());
        return facts;
    }
}
