/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** One ticket server: a table of one row, replaced by each ticket. Not thread-safe. */
final class TicketServer implements AutoCloseable {

    private static final Duration REST = Duration.ofSeconds(1);

    /** Draws a ticket; as in Flickr's scheme, the row holds the last one, so that people can see how far the server is. */
    private static final String DRAW = """
            INSERT INTO shardflake_scheme.ticket AS t (stub, id) VALUES ('a', nextval('shardflake_scheme.ticket_seq'))
            ON CONFLICT (stub) DO UPDATE SET id = EXCLUDED.id
            RETURNING id
            """;

    private final DataSource dataSource;
    private final int offset;
    private final InstantSource clock;

    private @Nullable Connection connection;
    private @Nullable PreparedStatement draw;
    private Instant restsUntil = Instant.MIN;

    TicketServer(DataSource dataSource, int offset, InstantSource clock) {
        this.dataSource = dataSource;
        this.offset = offset;
        this.clock = clock;
    }

    boolean isResting() {
        return clock.instant().isBefore(restsUntil);
    }

    long next() throws SQLException {
        try (ResultSet row = statement().executeQuery()) {
            row.next();
            return row.getLong(1);
        } catch (SQLException | IllegalArgumentException e) {
            restsUntil = clock.instant().plus(REST);
            close();
            throw e;
        }
    }

    private PreparedStatement statement() throws SQLException {
        if (draw == null) {
            Connection opened = dataSource.getConnection();
            connection = opened;
            prepare(opened);
            draw = opened.prepareStatement(DRAW);
        }
        return draw;
    }

    private void prepare(Connection connection) throws SQLException {
        SchemeTables.ensure(
                connection,
                "to_regclass('shardflake_scheme.ticket')",
                "CREATE SEQUENCE IF NOT EXISTS shardflake_scheme.ticket_seq INCREMENT BY 2 START WITH " + offset,
                "CREATE TABLE IF NOT EXISTS shardflake_scheme.ticket (stub char(1) PRIMARY KEY, id bigint NOT NULL)");
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT seqstart FROM pg_sequence WHERE seqrelid = 'shardflake_scheme.ticket_seq'::regclass")) {
            row.next();
            if (row.getLong(1) != offset) {
                throw new IllegalArgumentException(
                        "ticket server %s counts from %s, as the other does; name two, in the order of their first use"
                                .formatted(offset, row.getLong(1)));
            }
        }
    }

    @Override
    public void close() throws SQLException {
        draw = null;
        if (connection != null) {
            Connection closing = connection;
            connection = null;
            closing.close();
        }
    }
}
