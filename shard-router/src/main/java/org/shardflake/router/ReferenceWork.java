/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import org.jspecify.annotations.Nullable;

/** Work on reference tables in one transaction, for {@link ReferenceAccess}. */
@FunctionalInterface
public interface ReferenceWork<T extends @Nullable Object, X extends Exception> {

    /**
     * Runs the work. It may be run more than once.
     *
     * @param connection in the transaction, for as long as the work runs; the tables are in schema {@code reference}
     */
    T run(Connection connection) throws X;
}
