/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.exception;

import java.io.Serial;
import org.shardflake.move.Mover;

/** Thrown when replication has lost something that it needs, so that the move can only be ended. {@link Mover} adds how. */
public final class StreamLostException extends MoveException {

    @Serial
    private static final long serialVersionUID = 1L;

    public StreamLostException(String message) {
        super(message);
    }
}
