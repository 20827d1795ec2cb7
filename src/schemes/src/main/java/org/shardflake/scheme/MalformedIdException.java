/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/** The text is not an id of the scheme. */
public final class MalformedIdException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String scheme;

    MalformedIdException(String scheme, String message) {
        super(message);
        this.scheme = scheme;
    }

    /** The scheme whose id was expected. */
    public String scheme() {
        return scheme;
    }
}
