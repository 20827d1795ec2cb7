/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.io.Serial;

/** The table cannot be adopted as it is, or not in this state, so nothing was changed. */
public final class AdoptRefusedException extends AdoptException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String remedy;

    /** @param remedy what to do next */
    AdoptRefusedException(String message, String remedy) {
        super(message);
        this.remedy = remedy;
    }

    /** What to do next. */
    public String remedy() {
        return remedy;
    }
}
