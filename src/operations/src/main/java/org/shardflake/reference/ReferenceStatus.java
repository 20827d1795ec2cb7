/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.shardflake.CliCommand;

/**
 * The state of reference tables.
 *
 * @param home the server where they are written
 * @param tables their names
 * @param servers the other servers
 * @param unfinished commands that were interrupted and are to be run again
 */
public record ReferenceStatus(String home, List<String> tables, List<Copy> servers, List<CliCommand> unfinished) {

    public ReferenceStatus {
        tables = List.copyOf(tables);
        servers = List.copyOf(servers);
        unfinished = List.copyOf(unfinished);
    }

    /**
     * The state of a server that has a copy.
     *
     * @param lag how long a mark of the home took to arrive; empty if it did not arrive in time
     * @param trouble why the server does not follow, if something is known
     */
    public record Copy(String server, Optional<Duration> lag, Optional<String> trouble) {}

    /** Whether every server follows the home and no command is unfinished. */
    public boolean isWell() {
        return unfinished.isEmpty()
                && servers.stream()
                        .allMatch(
                                copy -> copy.lag().isPresent() && copy.trouble().isEmpty());
    }
}
