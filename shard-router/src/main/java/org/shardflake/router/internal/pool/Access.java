/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.pool;

/** The purpose of a transaction, which decides where it may run. */
public enum Access {
    WRITE,
    READ,
    /** A read that a slightly outdated replica may serve. */
    REPLICA_READ;

    public boolean readOnly() {
        return this != WRITE;
    }
}
