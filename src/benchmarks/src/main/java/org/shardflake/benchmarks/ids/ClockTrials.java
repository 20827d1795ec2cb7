/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.shardflake.scheme.GeneratorSettings;
import org.shardflake.scheme.IdGenerator;
import org.shardflake.scheme.Schemes;

/** What becomes of each scheme when the clock it reads steps back and when it stands. */
final class ClockTrials {

    private static final String DATABASE = "trial";

    /** Both outcomes, and whose clock it was. */
    record Outcome(ClockTrial.Outcome stepBack, ClockTrial.Outcome stand, String clock) {}

    private final Servers servers;
    private final int millis;

    /** Needs a database of its own, since it replaces the clock there. */
    ClockTrials(Servers servers, Connection connection, int millis) throws SQLException {
        this.servers = servers;
        this.millis = millis;
        Sql.execute(connection, "CREATE DATABASE " + DATABASE);
    }
}
