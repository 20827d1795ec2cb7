/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import org.shardflake.ShardflakeException;

/** Something could not be examined, or is not as it was found. */
public final class DoctorException extends ShardflakeException {

    private static final long serialVersionUID = 1L;

    DoctorException(String message) {
        super(message);
    }
}
