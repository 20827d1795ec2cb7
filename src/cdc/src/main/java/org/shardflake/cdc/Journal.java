/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A line of the journal that each server keeps in its write-ahead log.
 *
 * @param arrives whether the shard arrived; otherwise it left
 * @param epoch with which it did, or another server may get it
 * @param handOver the name that both servers give to a cutover
 */
record Journal(int shard, long epoch, boolean arrives, Optional<String> handOver) {

    private static final Pattern LINE = Pattern.compile(
            "\\{\"shard\" ?: ?(\\d+), ?\"epoch\" ?: ?(\\d+), ?\"event\" ?: ?\"(arrive|leave)\", ?\"handover\" ?: ?(?:null|\"([^\"]*)\")}");

    static Journal parse(String content) {
        Matcher line = LINE.matcher(content);
        if (!line.matches()) {
            throw new ChangesLostException("the journal has a line that this version cannot read: " + content);
        }
        return new Journal(
                Integer.parseInt(line.group(1)),
                Long.parseLong(line.group(2)),
                line.group(3).equals("arrive"),
                Optional.ofNullable(line.group(4)));
    }
}
