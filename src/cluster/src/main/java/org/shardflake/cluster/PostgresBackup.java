/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.sql.SQLException;

/** A base backup of a server in a {@link PostgresCluster}, from which, with the server's archive, every later moment can be restored. */
public interface PostgresBackup {

    /**
     * Replaces the server by a promoted one, restored to a restore point, on the same port. What was written after the point is gone. Returns
     * when it accepts writes.
     *
     * @param restorePoint a name given to {@code pg_create_restore_point} since the backup
     */
    void restore(String restorePoint) throws SQLException;
}
