/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.SQLException;

/** Uses two ticket servers in turn, or only one if the other fails. */
final class TicketGenerator implements LongIdGenerator {

    private final TicketServer[] servers;
    private int turn;

    TicketGenerator(TicketServer first, TicketServer second) {
        servers = new TicketServer[] {first, second};
    }

    @Override
    public synchronized long nextLong() throws SQLException {
        TicketServer asked = servers[turn];
        TicketServer other = servers[1 - turn];
        turn = 1 - turn;
        // A server that has just failed is skipped for a while: waiting for it would delay every other ticket.
        if (asked.isResting() && !other.isResting()) {
            return other.next();
        }
        try {
            return asked.next();
        } catch (SQLException e) {
            return nextOf(other, e);
        }
    }

    private static long nextOf(TicketServer other, SQLException failure) throws SQLException {
        try {
            return other.next();
        } catch (SQLException e) {
            e.addSuppressed(failure);
            throw new SQLException(
                    "neither ticket server gives tickets: %s; %s".formatted(failure.getMessage(), e.getMessage()),
                    e.getSQLState(),
                    e);
        }
    }

    @Override
    public synchronized void close() throws SQLException {
        try {
            servers[0].close();
        } finally {
            servers[1].close();
        }
    }
}
