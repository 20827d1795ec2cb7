/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.io.Serial;

/** Replication that has lost something it needs, so that the move can only be ended. {@link Mover} adds how. */
final class StreamLostException extends MoveException {

    @Serial
    private static final long serialVersionUID = 1L;

    StreamLostException(String message) {
        super(message);
    }
}
