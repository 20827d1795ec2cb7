/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import java.sql.SQLException;

/** Fixes a finding. Checks again before it changes anything, since time has passed. */
@FunctionalInterface
interface Fix {

    void apply() throws SQLException;
}
