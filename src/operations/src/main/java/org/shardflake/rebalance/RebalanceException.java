/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.io.Serial;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;

/** Thrown when a plan cannot be made or carried out. */
public class RebalanceException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    RebalanceException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    RebalanceException(Kind kind, String message) {
        super(kind, message, null, null);
    }

    /** @param hint the next step */
    RebalanceException(Kind kind, String message, CharSequence hint) {
        super(kind, message, hint, null);
    }
}
