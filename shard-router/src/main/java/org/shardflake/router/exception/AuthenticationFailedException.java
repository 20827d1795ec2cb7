/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.exception;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/**
 * A server refused the router's login: the password is wrong or missing, the user is unknown, or pg_hba.conf does not
 * let this user in from here. Nothing was done there.
 */
public final class AuthenticationFailedException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String server;

    public AuthenticationFailedException(String server, String user, Throwable cause) {
        super(
                ("server %s does not let user %s log in: %s. Look at ShardRouterBuilder.credentials, at the server's URL, and at"
                                + " ~/.pgpass")
                        .formatted(server, user, cause.getMessage()),
                cause);
        this.server = server;
    }

    public String server() {
        return server;
    }
}
