/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.sql.SQLException;

/** A pooler that changes sessions between transactions answered where the server itself is needed. */
public final class PoolerException extends SQLException {

    private static final long serialVersionUID = 1;
    private static final String FEATURE_NOT_SUPPORTED = "0A000";

    PoolerException(String hosts) {
        super(
                "%s is a pooler that changes sessions between transactions, where the server itself is needed"
                        .formatted(hosts),
                FEATURE_NOT_SUPPORTED);
    }
}
