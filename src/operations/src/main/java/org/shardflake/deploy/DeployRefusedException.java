/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** A deployment that the current state forbids: a changeset was edited, or another deployment is running. */
public final class DeployRefusedException extends DeployException {

    @Serial
    private static final long serialVersionUID = 1L;

    DeployRefusedException(String message) {
        this(message, null);
    }

    DeployRefusedException(String message, @Nullable CharSequence advice) {
        super(Kind.PRECONDITION, message, advice);
    }
}
