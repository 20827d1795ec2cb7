/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * Makes a value from the current row of a result.
 *
 * @param <T> the value
 */
@FunctionalInterface
public interface RowMapper<T> {

    /** Reads columns of the current row; must not move to another. */
    T map(ResultSet row) throws SQLException;
}
