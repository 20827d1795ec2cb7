/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.io.Serial;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;

/** An adoption that cannot continue now. The old database records where it stands, and the same command continues from there. */
public class AdoptException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    AdoptException(String message) {
        this(message, null);
    }

    AdoptException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    AdoptException(Kind kind, String message, @Nullable CharSequence hint) {
        super(kind, message, hint, null);
    }
}
