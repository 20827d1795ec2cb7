/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.exception;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/** The router could not connect to a server, so nothing was done there. Shards on other servers are not affected. */
public final class ServerUnavailableException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String server;

    public ServerUnavailableException(String server, String url, Throwable cause) {
        super("cannot connect to server %s at %s: %s".formatted(server, url, cause.getMessage()), cause);
        this.server = server;
    }

    public String server() {
        return server;
    }
}
