/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import org.shardflake.Advice;
import org.shardflake.ShardflakeException;

/** Thrown when something could not be examined, or has changed since it was found. */
public final class DoctorException extends ShardflakeException {

    private static final long serialVersionUID = 1L;

    DoctorException(String message) {
        super(message);
    }

    DoctorException(String message, Advice advice) {
        super(Kind.FAILURE, message, advice, null);
    }
}
