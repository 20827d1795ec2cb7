/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * The URL of a PostgreSQL server, as psql or as JDBC write it.
 *
 * <p>The driver reads neither libpq's URLs nor {@code PGUSER} and {@code PGPASSWORD}, so that happens here; {@code
 * ~/.pgpass} and {@code PGPASSFILE} it reads by itself. The password is never part of a message, nor is any piece of
 * an URL that could not be taken apart. Immutable.
 */
public final class ServerUrl {

    /** What it says comes as exceptions too; in its warnings about URLs are pieces of passwords. */
    private static final Logger DRIVER_LOG = Logger.getLogger("org.postgresql");

    private final String url;
    private final Map<String, String> environment;
    private final PGSimpleDataSource source;

    private ServerUrl(String url, Map<String, String> environment) {
        this.url = url;
        this.environment = Map.copyOf(environment);
        this.source = dataSource();
    }

    /**
     * Reads an URL.
     *
     * @throws IllegalArgumentException if it is neither a libpq nor a JDBC URL of PostgreSQL
     */
    public static ServerUrl parse(String url) {
        return parse(url, Map.of());
    }

    /**
     * Reads an URL, with what it leaves out taken from {@code PGUSER} and {@code PGPASSWORD} of this environment.
     *
     * @throws IllegalArgumentException if it is neither a libpq nor a JDBC URL of PostgreSQL
     */
    public static ServerUrl parse(String url, Map<String, String> environment) {
        DRIVER_LOG.setLevel(Level.OFF);
        return new ServerUrl(url, environment);
    }

    /** A new data source that opens a connection a call, to be configured further. */
    public PGSimpleDataSource dataSource() {
        PGSimpleDataSource fresh = new DirectDataSource();
        fresh.setApplicationName("shardflake");
        if (url.startsWith("jdbc:postgresql:")) {
            readJdbcUrl(fresh, url);
        } else if (url.startsWith("postgresql://") || url.startsWith("postgres://")) {
            LibpqUrl.read(fresh, url.substring(url.indexOf("://") + 3));
        } else {
            throw malformed("it does not start with postgresql:// or jdbc:postgresql://");
        }
        if (fresh.getUser() == null) {
            fresh.setUser(environment.get("PGUSER"));
        }
        if (fresh.getPassword() == null) {
            fresh.setPassword(environment.get("PGPASSWORD"));
        }
        return fresh;
    }

    /**
     * Connects, in auto-commit mode; the caller closes the connection.
     *
     * @param applicationName what the server shows of it in {@code pg_stat_activity}
     */
    public Connection connect(String applicationName) throws SQLException {
        PGSimpleDataSource named = dataSource();
        named.setApplicationName(applicationName);
        named.setTcpKeepAlive(true);
        return named.getConnection();
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

    static IllegalArgumentException malformed(String reason) {
        return new IllegalArgumentException("the server URL is malformed: " + reason);
    }

    /** Hosts with their ports, separated by commas. */
    public String hosts() {
        List<String> hosts = new ArrayList<>();
        for (int i = 0; i < source.getServerNames().length; i++) {
            String name = source.getServerNames()[i];
            int port = source.getPortNumbers()[i];
            hosts.add((name.contains(":") ? "[" + name + "]" : name) + ":" + (port == 0 ? 5432 : port));
        }
        return String.join(",", hosts);
    }

    /**
     * What another PostgreSQL server needs to connect to this one, in libpq's {@code name='value'} form: for subscriptions.
     * Holds the password, if there is one.
     */
    public String conninfo() {
        Map<String, @Nullable String> parameters = new LinkedHashMap<>();
        parameters.put("host", String.join(",", source.getServerNames()));
        parameters.put(
                "port",
                Arrays.stream(source.getPortNumbers())
                        .mapToObj(port -> String.valueOf(port == 0 ? 5432 : port))
                        .collect(Collectors.joining(",")));
        parameters.put("dbname", source.getDatabaseName());
        parameters.put("user", source.getUser());
        parameters.put("password", source.getPassword());
        parameters.put("sslmode", source.getSslMode());
        parameters.put("sslrootcert", source.getSslRootCert());
        return parameters.entrySet().stream()
                .filter(parameter -> parameter.getValue() != null)
                .map(parameter -> "%s='%s'"
                        .formatted(
                                parameter.getKey(),
                                String.valueOf(parameter.getValue())
                                        .replace("\\", "\\\\")
                                        .replace("'", "\\'")))
                .collect(Collectors.joining(" "));
    }

    /** The URL in libpq's form, without password and parameters. */
    @Override
    public String toString() {
        String user = source.getUser() == null ? "" : source.getUser() + "@";
        String database = source.getDatabaseName();
        return "postgresql://" + user + hosts() + (database == null || database.isEmpty() ? "" : "/" + database);
    }
}
