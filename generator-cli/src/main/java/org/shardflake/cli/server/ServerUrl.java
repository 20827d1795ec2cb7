/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.server;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.cli.CliException;
import org.shardflake.cli.ExitCodes;

/**
 * The URL of a PostgreSQL server, as psql or as JDBC write it.
 *
 * <p>The driver reads neither libpq's URLs nor {@code PGUSER} and {@code PGPASSWORD}, so that happens here; {@code
 * ~/.pgpass} and {@code PGPASSFILE} it reads by itself. The password is never part of a message, nor is any piece of
 * an URL that could not be taken apart.
 */
public final class ServerUrl {

    private static final String FORMS =
            "write it as postgresql://user@host:5432/database or jdbc:postgresql://host:5432/database?user=...";

    /** What it says comes as exceptions too; in its warnings about URLs are pieces of passwords. */
    private static final Logger DRIVER_LOG = Logger.getLogger("org.postgresql");

    private final PGSimpleDataSource source;

    private ServerUrl(PGSimpleDataSource source) {
        this.source = source;
    }

    /**
     * Reads an URL, with what it leaves out taken from {@code PGUSER} and {@code PGPASSWORD}.
     *
     * @throws CliException if it is neither a libpq nor a JDBC URL of PostgreSQL
     */
    public static ServerUrl parse(String url, Map<String, String> environment) {
        DRIVER_LOG.setLevel(Level.OFF);
        PGSimpleDataSource source = new PGSimpleDataSource();
        source.setApplicationName("shardflake");
        if (url.startsWith("jdbc:postgresql:")) {
            readJdbcUrl(source, url);
        } else if (url.startsWith("postgresql://") || url.startsWith("postgres://")) {
            LibpqUrl.read(source, url.substring(url.indexOf("://") + 3));
        } else {
            throw malformed("it does not start with postgresql:// or jdbc:postgresql://");
        }
        if (source.getUser() == null) {
            source.setUser(environment.get("PGUSER"));
        }
        if (source.getPassword() == null) {
            source.setPassword(environment.get("PGPASSWORD"));
        }
        return new ServerUrl(source);
    }

    private static void readJdbcUrl(PGSimpleDataSource source, String url) {
        if (url.replaceFirst("\\?.*", "").contains("@")) {
            throw malformed("a jdbc: URL takes the user as ?user=...&password=..., not before an @");
        }
        try {
            source.setUrl(url);
        } catch (IllegalArgumentException e) {
            throw malformed("the driver cannot read it"); // Its message would repeat the URL, password included.
        }
    }

    static CliException malformed(String reason) {
        return new CliException(ExitCodes.USAGE, "the server URL is malformed: " + reason, FORMS);
    }

    /**
     * Connects, in auto-commit mode. The caller closes the connection.
     *
     * @throws CliException if the server cannot be reached or refuses
     */
    public Connection connect() {
        try {
            return source.getConnection();
        } catch (SQLException e) {
            throw ServerFailure.explainConnecting(this, e);
        }
    }

    String hosts() {
        List<String> hosts = new ArrayList<>();
        for (int i = 0; i < source.getServerNames().length; i++) {
            String name = source.getServerNames()[i];
            int port = source.getPortNumbers()[i];
            hosts.add((name.contains(":") ? "[" + name + "]" : name) + ":" + (port == 0 ? 5432 : port));
        }
        return String.join(",", hosts);
    }

    PGSimpleDataSource source() {
        return source;
    }

    /** The URL in libpq's form, without password and parameters. */
    @Override
    public String toString() {
        String user = source.getUser() == null ? "" : source.getUser() + "@";
        String database = source.getDatabaseName();
        return "postgresql://" + user + hosts() + (database == null || database.isEmpty() ? "" : "/" + database);
    }
}
