/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.copy;

import java.sql.SQLException;

/** Slows copying down. */
@FunctionalInterface
public interface CopyThrottle {

    /** Called for rows that were copied; returns when the next may be. */
    void copied(long bytes) throws SQLException;
}
