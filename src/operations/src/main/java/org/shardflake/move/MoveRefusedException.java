/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.io.Serial;

/** What was asked of a move is not possible in its state, so nothing was changed. */
public final class MoveRefusedException extends MoveException {

    @Serial
    private static final long serialVersionUID = 1L;

    MoveRefusedException(String message) {
        super(Kind.PRECONDITION, message, null);
    }
}
