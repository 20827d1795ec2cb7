/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.io.Serial;

/** A deployment that the current state forbids: an edited changeset, or another deployment at work. */
public final class DeployRefusedException extends DeployException {

    @Serial
    private static final long serialVersionUID = 1L;

    DeployRefusedException(String message) {
        super(Kind.PRECONDITION, message, null);
    }
}
