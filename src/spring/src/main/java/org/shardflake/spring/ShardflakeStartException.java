/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.io.Serial;

/** Thrown when the router could not be created from its configuration. */
final class ShardflakeStartException extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String action;

    ShardflakeStartException(String description, String action, Throwable cause) {
        super(description, cause);
        this.action = action;
    }

    ShardflakeStartException(String description, String action) {
        super(description);
        this.action = action;
    }

    /** @param reason whose message, with or without a full stop, says why */
    static ShardflakeStartException because(String description, Exception reason, String action) {
        String why = String.valueOf(reason.getMessage());
        return new ShardflakeStartException(
                "%s: %s%s".formatted(description, why, why.endsWith(".") ? "" : "."), action, reason);
    }

    /** The remedy to be shown. */
    String action() {
        return action;
    }
}
