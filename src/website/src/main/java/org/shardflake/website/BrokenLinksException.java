/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.website;

import java.io.Serial;
import java.util.List;

/** Thrown when documents link to files or headings that do not exist. */
final class BrokenLinksException extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1L;

    BrokenLinksException(List<String> broken) {
        super("these links lead nowhere:\n" + String.join("\n", broken));
    }
}
