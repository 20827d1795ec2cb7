/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.map;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.shardflake.Server;

/** The shard map as text: a cell for each shard, in its server's colour, or with its server's letter without colours. */
public final class MapCells {

    /** Twelve of a terminal's 256 colours that nearly everyone can tell apart, including most colour-blind people. */
    private static final int[] COLOURS = {33, 208, 35, 161, 220, 99, 44, 130, 250, 28, 201, 94};

    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz";

    private MapCells() {}

    /**
     * Draws the shards in lines of 50 or 100, each with the number of its first one, and a key to the servers.
     *
     * @param width number of columns, including labels
     */
    public static String draw(MapPicture picture, boolean colours, int width) {
        int perLine = width >= 107 ? 100 : 50;
        List<Server> servers = picture.map().servers();
        Map<Server, Integer> positions = new HashMap<>();
        servers.forEach(server -> positions.put(server, positions.size()));
        StringBuilder text = new StringBuilder();
        int shards = picture.map().sharding().shardCount();
        for (int first = 0; first < shards; first += perLine) {
            text.append(String.format(Locale.ROOT, "%5d ", first));
            for (int shard = first; shard < Math.min(shards, first + perLine); shard++) {
                int position = positions.getOrDefault(picture.map().server(shard), 0);
                text.append(cell(position, picture.isMoving(shard), colours));
            }
            text.append(System.lineSeparator());
        }
        text.append(System.lineSeparator()).append("      ");
        for (int position = 0; position < servers.size(); position++) {
            text.append(cell(position, false, colours))
                    .append(' ')
                    .append(servers.get(position).name())
                    .append("   ");
        }
        if (!picture.moves().isEmpty()) {
            text.append(colours ? "\u2592 moving" : "upper case: moving");
        }
        return text.toString().stripTrailing();
    }

    private static String cell(int server, boolean moving, boolean colours) {
        if (colours) {
            String block = moving ? "\u2592" : "\u25a0";
            return "\u001b[38;5;%sm%s\u001b[0m".formatted(COLOURS[server % COLOURS.length], block);
        }
        String letter = String.valueOf(LETTERS.charAt(server % LETTERS.length()));
        return moving ? letter.toUpperCase(Locale.ROOT) : letter;
    }
}
