/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.exception;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/** The thread was interrupted while it waited; nothing was committed. Its interrupt flag is still set. */
public final class InterruptedWorkException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    public InterruptedWorkException(String waitingFor, Throwable cause) {
        super("interrupted while waiting for %s; nothing was committed".formatted(waitingFor), cause);
        Thread.currentThread().interrupt();
    }
}
