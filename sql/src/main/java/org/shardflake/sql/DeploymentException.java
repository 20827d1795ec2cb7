/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

/** Thrown when the SQL side of Shardflake could not be deployed; the message says why. */
public class DeploymentException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    DeploymentException(String message) {
        super(message);
    }

    DeploymentException(String message, Throwable cause) {
        super(message, cause);
    }
}
