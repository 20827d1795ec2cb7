/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/** All usable worker ids are claimed by others. */
public final class NoFreeWorkerException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String scheme;

    NoFreeWorkerException(String scheme, long first, long last) {
        super(
                first == last
                        ? "worker %s of %s is claimed; wait until its claim ends, or take another"
                                .formatted(first, scheme)
                        : "all workers %s..%s of %s are claimed; wait until a claim ends, or end one: see shardflake_scheme.lease"
                                .formatted(first, last, scheme));
        this.scheme = scheme;
    }

    /** The scheme. */
    public String scheme() {
        return scheme;
    }
}
