/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.sql.SQLException;

/** Only a standby answered where a primary is needed: it refuses writes, and its data may be old. */
public final class StandbyException extends SQLException {

    private static final long serialVersionUID = 1;
    private static final String READ_ONLY = "25006";

    StandbyException(String hosts) {
        super("server %s is a standby (in recovery), where a primary is needed".formatted(hosts), READ_ONLY);
    }
}
