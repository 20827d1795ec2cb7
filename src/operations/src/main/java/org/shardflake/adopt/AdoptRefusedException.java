/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.io.Serial;

/** Thrown when the table cannot be adopted as it is, or not in this state; nothing was changed. */
public final class AdoptRefusedException extends AdoptException {

    @Serial
    private static final long serialVersionUID = 1L;

    /** @param hint what to do next */
    AdoptRefusedException(String message, CharSequence hint) {
        super(Kind.PRECONDITION, message, hint);
    }
}
