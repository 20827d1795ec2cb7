/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.io.Serial;
import java.util.List;

/** Thrown when a plan is invalid; says what is wrong, and where in the file. */
final class InvalidPlanException extends IllegalArgumentException {

    @Serial
    private static final long serialVersionUID = 1;

    private final transient List<String> path;

    /** @param path the names of the property and of those above it */
    InvalidPlanException(List<String> path, String message) {
        super(message);
        this.path = List.copyOf(path);
    }

    List<String> path() {
        return path;
    }
}
