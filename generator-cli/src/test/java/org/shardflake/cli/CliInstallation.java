/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.StringJoiner;
import org.postgresql.PGConnection;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.jdbc.Sql;

/**
 * The databases of a test class as one installation.
 *
 * @param catalog the number of the database that has the catalog
 */
record CliInstallation(PostgresExtension postgres, int catalog) {

    /** An installation whose catalog is in the first database. */
    CliInstallation(PostgresExtension postgres) {
        this(postgres, 0);
    }

    /** The URL of a database, counted from 0, without a password. */
    String url(int server) {
        return withoutPassword(postgres.database(server));
    }

    static String withoutPassword(TestDatabase database) {
        return database.uri().replaceFirst(":[^:@/]*@", "@");
    }

    /** Runs a command with the catalog and the password in the environment. */
    Result launch(String... args) {
        return launchWithInput("", args);
    }

    Result launchWithInput(String input, String... args) {
        Map<String, String> environment = Map.of("SHARDFLAKE_CATALOG", url(catalog), "PGPASSWORD", password());
        return Cli.launch(new ByteArrayInputStream(input.getBytes(UTF_8)), environment, args);
    }

    String password() {
        return postgres.database(0).password();
    }

    /** Begins again: 8 shards on the first two databases, db1 and db2. */
    void init() throws SQLException {
        if (postgres.restore("initialized")) {
            return;
        }
        if (!take("initialized")) {
            drop();
            Result result = launch("init", "--shards=8", "--server=db1=" + url(0), "--server=db2=" + url(1));
            if (result.exitCode() != 0) {
                throw new AssertionError(result);
            }
            share("initialized");
        }
        postgres.save("initialized");
    }

    /** Takes what another class with the catalog in the same place has shared; false if there is none. */
    boolean take(String state) throws SQLException {
        return postgres.take(shared(state), "shardflake_catalog.server", "url");
    }

    /** Shares the databases with the next classes. */
    void share(String state) throws SQLException {
        postgres.share(shared(state));
    }

    private String shared(String state) {
        return "%s, catalog in %s".formatted(state, catalog);
    }

    /** Takes everything of ours out of the databases. */
    void drop() throws SQLException {
        for (int server = 0; server < 3; server++) {
            execute(server, "DROP SCHEMA IF EXISTS shardflake, shardflake_catalog CASCADE");
        }
    }

    /** As whoever runs the commands. */
    void execute(int server, String sql) throws SQLException {
        TestDatabase database = postgres.database(server);
        try (Connection connection = database.connectAs(database.user(), database.password());
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /**
     * Copies rows from a database to the first one, as psql does with the lines that a command prints.
     *
     * @param setting a statement to run there first; empty for none
     */
    void copy(int from, String out, String setting, String in) throws SQLException, IOException {
        StringWriter rows = new StringWriter();
        try (Connection source = postgres.database(from).connect();
                Connection home = postgres.database(0).connect()) {
            if (!setting.isEmpty()) {
                Sql.execute(home, setting);
            }
            source.unwrap(PGConnection.class).getCopyAPI().copyOut(out, rows);
            home.unwrap(PGConnection.class).getCopyAPI().copyIn(in, new StringReader(rows.toString()));
        }
    }

    /** The first value of the first row. */
    String query(int server, String sql) throws SQLException {
        TestDatabase database = postgres.database(server);
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return String.valueOf(row.getString(1));
        }
    }

    /** Everything that is in a database and not PostgreSQL's: what was made, when, and the rows. */
    String everything(int server) throws SQLException {
        StringJoiner everything = new StringJoiner("\n");
        everything.add(query(server, """
                SELECT string_agg(v, E'\\n' ORDER BY v) FROM (
                    SELECT concat_ws(' ', oid, xmin, nspname) FROM pg_namespace WHERE nspname !~ '^pg_'
                    UNION ALL SELECT concat_ws(' ', oid, xmin, relname) FROM pg_class
                     WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
                    UNION ALL SELECT concat_ws(' ', oid, xmin, proname) FROM pg_proc
                     WHERE pronamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_')) v (v)
                """));
        String tables = query(server, """
                SELECT string_agg(oid::regclass::text, ' ' ORDER BY oid) FROM pg_class
                 WHERE relkind = 'r' AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema')
                """);
        for (String table : tables.equals("null") ? new String[0] : tables.split(" ", -1)) {
            everything.add(query(
                    server,
                    "SELECT concat('%1$s ', string_agg(concat_ws(' ', xmin, t::text), ',' ORDER BY t::text)) FROM %1$s t"
                            .formatted(table)));
        }
        return everything.toString();
    }
}
