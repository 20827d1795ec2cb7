/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.sql.SQLException;

/** A hot standby that streams from a server of a {@link PostgresCluster}: it can be read, made to lag, and promoted. */
public interface PostgresStandby extends PostgresServer {

    /** Pauses the replay: the standby keeps showing the current rows until {@link #resumeReplay()}. */
    void pauseReplay() throws SQLException;

    /** Replays everything received since the pause, and continues. */
    void resumeReplay() throws SQLException;

    /** Waits until the standby shows everything that its primary committed before this call. */
    void awaitReplay() throws SQLException;

    /** Cuts the standby off from its primary, as a network failure would: a failover loses all later commits. */
    void disconnect() throws SQLException;

    /** Promotes the standby, as a failover does; returns when it accepts writes. Its primary is left unchanged. */
    void promote();

    /** The libpq URI of a database with both hosts, this one first, as users with a standby write it. */
    String uriOfBoth(String database);
}
