/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a command says after each cutover.
 *
 * @param server that the shard is on now
 * @param pauseMillis how long the command says that writers waited, in whole milliseconds
 */
record CutoverLine(int shard, String server, double pauseMillis) {

    private static final Pattern LINE = Pattern.compile("shard (\\d+) is on (\\S+), after a pause of (\\d+) ms.*");

    /** The cutover in a line of standard error, or nothing if the line is about something else. */
    static Optional<CutoverLine> parse(String line) {
        Matcher matcher = LINE.matcher(line);
        return matcher.matches()
                ? Optional.of(new CutoverLine(
                        Integer.parseInt(matcher.group(1)), matcher.group(2), Double.parseDouble(matcher.group(3))))
                : Optional.empty();
    }
}
