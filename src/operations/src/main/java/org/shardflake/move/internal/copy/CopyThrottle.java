/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.copy;

import java.sql.SQLException;

/** Limits the speed of copying. */
@FunctionalInterface
public interface CopyThrottle {

    /** Called for copied rows; returns when the next ones may be copied. */
    void copied(long bytes) throws SQLException;
}
