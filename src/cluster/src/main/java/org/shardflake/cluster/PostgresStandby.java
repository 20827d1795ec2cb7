/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.sql.SQLException;

/** A hot standby that streams from a server of a {@link PostgresCluster}: it can be read, made to lag, and promoted. */
public interface PostgresStandby extends PostgresServer {

    /** Stops to replay: from here on it shows the rows of now, until {@link #resumeReplay()}. */
    void pauseReplay() throws SQLException;

    /** Replays what has come in the meantime, and all that comes. */
    void resumeReplay() throws SQLException;

    /** Waits until it shows everything that its primary has committed before this call. */
    void awaitReplay() throws SQLException;

    /** Receives nothing more from its primary, as when the way between them is cut: what comes now, a failover loses. */
    void disconnect() throws SQLException;

    /** Makes it a primary of its own, as a failover does; returns when it takes writes. Its primary is left as it is. */
    void promote();
}
