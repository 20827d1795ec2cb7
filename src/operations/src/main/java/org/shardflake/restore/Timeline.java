/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.restore;

import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** Parses timelines as PostgreSQL writes them. */
final class Timeline {

    /** Matches a line of a history file: the timeline that was left, where, and why. */
    private static final Pattern LEFT = Pattern.compile("(?m)^\\s*(\\d+)\\s+([0-9A-F]+/[0-9A-F]+)\\s+(.*)$");

    private Timeline() {}

    /** The end of a timeline, and the reason: {@code at restore point "before"}. */
    record End(String lsn, String reason) {}

    static long ofWalFile(String walFile) {
        return Long.parseLong(walFile.substring(0, 8), 16);
    }

    /** The path of a timeline's history file, relative to the data directory. */
    static String historyFile(long timeline) {
        return "pg_wal/%08X.history".formatted(timeline);
    }

    /** The end of a timeline, according to the history of a later one. */
    static Optional<End> end(String history, long timeline) {
        return LEFT.matcher(history)
                .results()
                .filter(line -> Long.parseLong(line.group(1)) == timeline)
                .map(Timeline::end)
                .findFirst();
    }

    private static End end(MatchResult line) {
        return new End(line.group(2), line.group(3).strip());
    }

    /** A position in the write-ahead log as a number. */
    static long position(String lsn) {
        int slash = lsn.indexOf('/');
        return (Long.parseLong(lsn.substring(0, slash), 16) << 32) + Long.parseLong(lsn.substring(slash + 1), 16);
    }
}
