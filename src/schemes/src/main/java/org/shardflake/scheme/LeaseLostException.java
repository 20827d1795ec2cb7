/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/** A generator's claim on a worker id has expired or passed to another one, so that it generates no more ids. */
public final class LeaseLostException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String scheme;
    private final long worker;

    LeaseLostException(String scheme, long worker, String reason) {
        super("worker %s of %s is no longer ours: %s; make a new generator".formatted(worker, scheme, reason));
        this.scheme = scheme;
        this.worker = worker;
    }

    /** The scheme. */
    public String scheme() {
        return scheme;
    }

    /** The worker id that was claimed. */
    public long worker() {
        return worker;
    }
}
