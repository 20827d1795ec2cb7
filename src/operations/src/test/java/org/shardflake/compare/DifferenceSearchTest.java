/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.compare;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.compare.DifferenceSearch.Difference;
import org.shardflake.jdbc.Sql;

/** Which rows differ, a few at a time. */
class DifferenceSearchTest {

    private static final String ROWS = """
            CREATE SCHEMA shard_0003;
            CREATE TABLE shard_0003.thing (name text, code character(3), n integer, v text, PRIMARY KEY (name, code));
            INSERT INTO shard_0003.thing
            SELECT name, 'x' || n % 10, n, 'value'
              FROM generate_series(1, 40) n, unnest(ARRAY[n::text, n || ',', n || '"', n || '\\', n || ' (', n || '''', '', U&'\\+01F600' || n, U&'\\FFFD' || n]) name
            ON CONFLICT DO NOTHING
            """;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private Connection leader;
    private Connection follower;

    @BeforeEach
    void create() throws SQLException {
        leader = create(0);
        follower = create(1);
    }

    private static Connection create(int server) throws SQLException {
        Connection connection = postgres.database(server).connect();
        Sql.execute(connection, ROWS);
        connection.setAutoCommit(false);
        return connection;
    }

    @AfterEach
    void drop() throws SQLException {
        for (Connection connection : new Connection[] {leader, follower}) {
            connection.rollback();
            connection.setAutoCommit(true);
            Sql.execute(connection, "DROP SCHEMA shard_0003 CASCADE");
            Sql.close(connection);
        }
    }

    private Rows rows() throws SQLException {
        return Rows.of(leader, follower, "shard_0003.thing");
    }

    private List<Difference> all() throws SQLException {
        List<Difference> found = new ArrayList<>();
        assertThat(new DifferenceSearch(leader, follower, rows()).run(found::addAll))
                .isEmpty();
        return found;
    }

    @Test
    void namesEachRowThatDiffersAndNoOther() throws SQLException {
        assertThat(all()).isEmpty();
        Sql.execute(follower, """
                DELETE FROM shard_0003.thing WHERE name = '7,';
                UPDATE shard_0003.thing SET v = 'another' WHERE n = 8;
                INSERT INTO shard_0003.thing VALUES (' ', 'new', 1, NULL)
                """);

        List<Difference> found = all();

        assertThat(found)
                .filteredOn(row -> row.follower() == null)
                .extracting(Difference::key)
                .containsExactly("(\"x7 \",\"7,\")");
        assertThat(found)
                .filteredOn(row -> row.leader() == null)
                .extracting(Difference::key)
                .containsExactly("(new,\" \")");
        assertThat(found).hasSize(2 + (int) Sql.number(leader, "SELECT count(*) FROM shard_0003.thing WHERE n = 8"));
    }

    /** Whatever is in a key, its row is found by it again. */
    @Test
    void findsRowsByTheirKeys() throws SQLException {
        Sql.execute(follower, "DELETE FROM shard_0003.thing");
        List<String> keys = all().stream().map(Difference::key).toList();

        assertThat(rows().withKeys(leader, keys)).containsOnlyKeys(keys);
        assertThat(rows().withKeys(follower, keys)).isEmpty();
    }

    @Test
    void endsWhenItHasEnough() throws SQLException {
        Sql.execute(leader, "INSERT INTO shard_0003.thing SELECT n, 'y', n FROM generate_series(1, 150000) n");
        AtomicInteger received = new AtomicInteger();

        OptionalLong rest =
                new DifferenceSearch(leader, follower, rows()).run(some -> received.addAndGet(some.size()) < 2500);

        assertThat(received).hasValue(3000);
        assertThat(rest.orElseThrow()).isBetween(30_000L, 147_000L);
    }

    /** Some characters take two places in Java. */
    @Test
    void keysHaveTheServersOrder() throws SQLException {
        List<String> sorted = Sql.list(
                leader,
                "SELECT (name::text) FROM shard_0003.thing ORDER BY convert_to(name, 'UTF8')",
                row -> row.getString(1));

        assertThat(sorted).isSortedAccordingTo(KeyText.ORDER);
    }
}
