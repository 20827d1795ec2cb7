/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

/**
 * A scheme's layout, needs and guarantees.
 *
 * @param name the short name that commands take
 * @param title the name that people know it by
 * @param layout the fields of an id, from the most significant
 * @param source its publication
 * @param bits the size of an id
 * @param timeOrdered whether ids that one generator makes in different units of time sort by time, given a sane clock
 * @param shardInside whether an id names the logical shard of its row
 * @param nodeIds whether each generator needs a number of its own
 * @param coordinator whether something has to hand out those numbers, or the ids themselves, safely
 * @param networkCall whether making an id takes a round trip to a server other than that of its row
 * @param clockStep its behaviour when the clock steps back
 */
public record SchemeDescription(
        String name,
        String title,
        String layout,
        String source,
        int bits,
        boolean timeOrdered,
        boolean shardInside,
        boolean nodeIds,
        boolean coordinator,
        boolean networkCall,
        ClockStep clockStep) {}
