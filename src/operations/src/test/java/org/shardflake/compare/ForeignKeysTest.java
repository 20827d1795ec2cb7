/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.compare;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;

class ForeignKeysTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    private static final String TABLES = "SELECT oid FROM pg_class WHERE relnamespace = 's'::regnamespace";

    private Connection connection;

    @BeforeEach
    void connect() throws SQLException {
        connection = postgres.database(0).connect();
        Sql.execute(
                connection, "CREATE SCHEMA s; SET search_path = pg_catalog; SET session_replication_role = replica");
    }

    @AfterEach
    void drop() throws SQLException {
        Sql.execute(connection, "DROP SCHEMA s CASCADE");
        connection.close();
    }

    private List<String> broken() throws SQLException {
        return ForeignKeys.lines(ForeignKeys.broken(connection, ForeignKeys.of(connection, TABLES)), key -> true);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "CREATE TABLE s.p (id int PRIMARY KEY); CREATE TABLE s.c (id bigint REFERENCES s.p); INSERT INTO s.p VALUES (1); INSERT INTO s.c VALUES (1), (2), (NULL) | c_id_fkey of c to p: 1 row in 1 shard, in s such as (2)",
                "CREATE TABLE s.p (id int PRIMARY KEY, up int REFERENCES s.p DEFERRABLE INITIALLY DEFERRED); INSERT INTO s.p VALUES (1, 1), (2, 3) | p_up_fkey of p to p: 1 row in 1 shard, in s such as (3)",
                "CREATE TABLE s.p (a int, b text COLLATE \"C\", PRIMARY KEY (a, b)); CREATE TABLE s.c (x int, y text COLLATE \"POSIX\", FOREIGN KEY (y, x) REFERENCES s.p (b, a)); INSERT INTO s.p VALUES (1, 'x'); INSERT INTO s.c VALUES (1, 'x'), (2, 'x'), (2, NULL) | c_y_x_fkey of c to p: 1 row in 1 shard, in s such as (x,2)",
                "CREATE TABLE s.p (a int, b int, PRIMARY KEY (a, b)); CREATE TABLE s.c (x int, y int, FOREIGN KEY (x, y) REFERENCES s.p MATCH FULL); INSERT INTO s.c VALUES (1, NULL), (NULL, NULL) | c_x_y_fkey of c to p: 1 row in 1 shard, in s such as (1,)",
                "CREATE TABLE s.p (id int PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE s.p1 PARTITION OF s.p FOR VALUES FROM (1) TO (5); CREATE TABLE s.p2 PARTITION OF s.p DEFAULT; CREATE TABLE s.c (id int REFERENCES s.p) PARTITION BY RANGE (id); CREATE TABLE s.c1 PARTITION OF s.c DEFAULT; INSERT INTO s.p VALUES (1), (7); INSERT INTO s.c VALUES (1), (7), (8) | c_id_fkey of c to p: 1 row in 1 shard, in s such as (8)",
                "CREATE TABLE s.p (id int PRIMARY KEY); CREATE TABLE s.h () INHERITS (s.p); CREATE TABLE s.c (id int REFERENCES s.p); INSERT INTO s.h VALUES (1); INSERT INTO s.c VALUES (1) | c_id_fkey of c to p: 1 row in 1 shard, in s such as (1)",
                "CREATE TABLE s.p (id int PRIMARY KEY); CREATE TABLE s.c (id int); INSERT INTO s.c VALUES (1); ALTER TABLE s.c ADD FOREIGN KEY (id) REFERENCES s.p NOT VALID | c_id_fkey of c to p: 1 row in 1 shard, in s such as (1)",
                "CREATE TABLE s.\"P %s\" (\"I'd\" int PRIMARY KEY); CREATE TABLE s.\"C\" (\"p\"\"x\" int REFERENCES s.\"P %s\"); INSERT INTO s.\"C\" VALUES (1) | fkey of C to P %s: 1 row in 1 shard, in s such as (1)",
            })
    void brokenOnesOfAllKindsAreNamed(String sql, String line) throws SQLException {
        Sql.execute(connection, sql);

        assertThat(broken()).singleElement().asString().contains(line);
    }

    @Test
    void findsWhatPostgresFinds() throws SQLException {
        Random random = new Random(7);
        Sql.execute(connection, """
                CREATE TABLE s.p (a int, b varchar(5), c numeric, PRIMARY KEY (a, b), UNIQUE (c));
                CREATE TABLE s.c (id int PRIMARY KEY, a smallint, b text, c int, FOREIGN KEY (a, b) REFERENCES s.p, FOREIGN KEY (c) REFERENCES s.p (c))
                """);
        int sound = 0;
        for (int round = 0; round < 60; round++) {
            StringBuilder sql = new StringBuilder("TRUNCATE s.p, s.c;");
            for (int i = 0; i < 9; i++) {
                sql.append("INSERT INTO s.p VALUES (%s, '%s', %s) ON CONFLICT DO NOTHING;"
                        .formatted(i % 3, i / 3, random.nextInt(9)));
            }
            for (int i = 0; i < random.nextInt(4); i++) {
                String part = random.nextInt(4) == 0 ? "NULL" : Integer.toString(random.nextInt(4));
                sql.append("INSERT INTO s.c VALUES (%s, %s, '%s', %s);"
                        .formatted(i, part, random.nextInt(3), random.nextBoolean() ? "NULL" : random.nextInt(9)));
            }
            Sql.execute(connection, sql.toString());

            boolean isSound = broken().isEmpty();

            assertThat(isSound).as(sql.toString()).isEqualTo(postgresFindsNone());
            sound += isSound ? 1 : 0;
        }
        assertThat(sound).isBetween(5, 55);
    }

    private boolean postgresFindsNone() throws SQLException {
        try {
            Sql.inTransaction(connection, () -> {
                Sql.execute(
                        connection,
                        "ALTER TABLE s.c ADD CONSTRAINT one FOREIGN KEY (a, b) REFERENCES s.p, ADD CONSTRAINT two FOREIGN KEY (c) REFERENCES s.p (c)");
                throw new IllegalStateException("sound");
            });
            return false;
        } catch (IllegalStateException e) {
            return true;
        } catch (SQLException e) {
            assertThat(e.getSQLState()).isEqualTo("23503");
            return false;
        }
    }
}
