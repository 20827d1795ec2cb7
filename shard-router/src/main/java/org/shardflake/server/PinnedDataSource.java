/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** A data source whose sessions get Shardflake's own settings. */
final class PinnedDataSource extends DirectDataSource {

    private static final long serialVersionUID = 1;

    private final transient ServerUrl url;
    private final String searchPath;

    PinnedDataSource(ServerUrl url, String searchPath) {
        this.url = url;
        this.searchPath = searchPath;
    }

    @Override
    public Connection getConnection(@Nullable String user, @Nullable String password) throws SQLException {
        return url.openPinned(this, searchPath, () -> super.getConnection(user, password));
    }
}
