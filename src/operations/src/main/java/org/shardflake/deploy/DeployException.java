/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.io.Serial;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;

/** A deployment that could not start, so that nothing was changed, or could not continue, after which it can be started again. */
public class DeployException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    DeployException(String message) {
        this(message, null);
    }

    DeployException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    DeployException(Kind kind, String message, @Nullable CharSequence hint) {
        this(kind, message, hint, null);
    }

    DeployException(Kind kind, String message, @Nullable CharSequence hint, @Nullable Throwable cause) {
        super(kind, message, hint, cause);
    }
}
