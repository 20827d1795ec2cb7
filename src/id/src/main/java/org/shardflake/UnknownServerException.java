/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.io.Serial;
import java.util.Collection;
import java.util.List;

/** A name that no server in the shard map has. */
public final class UnknownServerException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String server;
    private final List<String> known;

    UnknownServerException(String server, Collection<String> known) {
        super(
                Kind.USAGE,
                "there is no server \"%s\" in the shard map; its servers are %s"
                        .formatted(
                                server,
                                String.join(", ", known.stream().sorted().toList())),
                Suggestion.find(server, known.stream().sorted().toList())
                        .map("did you mean %s?"::formatted)
                        .orElse(null),
                null);
        this.server = server;
        this.known = known.stream().sorted().toList();
    }

    /** The names of the existing servers, in order. */
    public List<String> known() {
        return known;
    }

    /** The unknown name. */
    public String server() {
        return server;
    }
}
