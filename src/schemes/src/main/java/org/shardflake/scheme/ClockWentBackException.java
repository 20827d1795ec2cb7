/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/** The clock went back, and the scheme generates no ids until it has caught up. */
public final class ClockWentBackException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final long millisBehind;

    ClockWentBackException(String scheme, long millisBehind) {
        super("the clock went back; %s makes no ids for the next %s ms".formatted(scheme, millisBehind));
        this.millisBehind = millisBehind;
    }

    /** The time that the clock is behind the last id, in milliseconds. */
    public long millisBehind() {
        return millisBehind;
    }
}
