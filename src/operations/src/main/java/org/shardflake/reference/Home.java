/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;

/**
 * The catalog's record of reference tables.
 *
 * @param server where they are written
 * @param tag names the streams from there
 * @param next the home to be, while it changes
 * @param old the home before, while something of its streams may be left
 */
record Home(
        String server,
        String tag,
        @Nullable String next,
        @Nullable String nextTag,
        @Nullable String old,
        @Nullable String oldTag) {

    /** The exception for a missing home. */
    static ShardflakeException missing() {
        return new ShardflakeException(
                ShardflakeException.Kind.PRECONDITION,
                "there are no reference tables",
                Advice.of("%s creates them", CliCommand.REFERENCE_DEPLOY_HOME),
                null);
    }

    /** The slots that streams to these servers need on a server. */
    Set<String> slotsOn(String its, Collection<String> servers) {
        Map<String, String> tags = new HashMap<>();
        tags.put(server, tag);
        tags.put(String.valueOf(next), String.valueOf(nextTag));
        tags.put(String.valueOf(old), String.valueOf(oldTag));
        String named = tags.get(its);
        return named == null
                ? Set.of()
                : servers.stream()
                        .filter(other -> !other.equals(its))
                        .map(other -> ReferenceStream.name(named, other))
                        .collect(Collectors.toSet());
    }

    boolean isChanging() {
        return next != null || old != null;
    }
}
