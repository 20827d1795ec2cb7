/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

/**
 * What a scheme is, needs and promises.
 *
 * @param name the short name that commands take
 * @param title the name that people know it by
 * @param layout the fields of an id, from the most significant
 * @param source where it was published
 * @param bits the size of an id
 * @param timeOrdered whether ids that one generator makes in different units of time sort by time, the clock being sane
 * @param shardInside whether an id names the logical shard of its row
 * @param nodeIds whether each generator needs a number of its own
 * @param coordinator whether something has to give out those numbers, or the ids themselves, safely
 * @param networkCall whether making an id takes a round trip to a server other than the one that its row goes to
 * @param clockStep what it does when the clock steps back
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
