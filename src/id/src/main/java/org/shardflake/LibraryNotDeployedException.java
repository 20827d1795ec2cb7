/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.io.Serial;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** A database lacks the {@code shardflake} schema, its functions, or the record of its id layout. */
public final class LibraryNotDeployedException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String database;

    LibraryNotDeployedException(String database, String missing, @Nullable SQLException cause) {
        super(
                Kind.PRECONDITION,
                ("the shardflake function library is not deployed in database %s: %s; deploy it there first,"
                                + " with FunctionLibrary.deploy or the changelog shardflake/server.changelog.xml")
                        .formatted(database, missing),
                null,
                cause);
        this.database = database;
    }

    /** The name of the database. */
    public String database() {
        return database;
    }
}
