/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/** The sessions of a {@link ServerUrl} as a data source; only the URL says who logs in. */
final class PinnedDataSource extends PGSimpleDataSource {

    private static final long serialVersionUID = 1;

    private final transient SharedSessions.Opener opener;

    PinnedDataSource(SharedSessions.Opener opener) {
        this.opener = opener;
    }

    @Override
    public Connection getConnection() throws SQLException {
        return opener.open();
    }

    @Override
    public Connection getConnection(@Nullable String user, @Nullable String password) throws SQLException {
        return opener.open();
    }
}
