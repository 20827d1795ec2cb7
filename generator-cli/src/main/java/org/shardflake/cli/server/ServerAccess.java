/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLEncoder;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.Server;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.install.ServerFailedException;
import org.shardflake.server.ServerUrl;

/** Parses the URLs that users give, and connects to them, with failures worded for the command line. */
public final class ServerAccess {

    private static final String FORMS =
            "write it as postgresql://user@host:5432/database or jdbc:postgresql://host:5432/database?user=...";

    private ServerAccess() {}

    /**
     * Reads a URL, with missing parts taken from {@code PGUSER} and {@code PGPASSWORD}.
     *
     * @throws CliException if it is neither a libpq nor a JDBC URL of PostgreSQL
     */
    public static ServerUrl parse(String url, Map<String, String> environment) {
        try {
            return ServerUrl.parse(url, environment);
        } catch (IllegalArgumentException e) {
            throw new CliException(Kind.USAGE, String.valueOf(e.getMessage()), FORMS);
        }
    }

    /**
     * The connection that libpq's programs would make with these environment variables, as a URL without a password; empty if they name no
     * service, host or database.
     */
    public static Optional<String> libpqDefault(Map<String, String> environment) {
        if (Stream.of("PGSERVICE", "PGHOST", "PGDATABASE").noneMatch(environment::containsKey)) {
            return Optional.empty();
        }
        List<String> parameters = new ArrayList<>();
        Map.of("service", "PGSERVICE", "host", "PGHOST", "port", "PGPORT", "sslmode", "PGSSLMODE")
                .forEach((parameter, variable) -> add(parameters, parameter, environment.get(variable)));
        add(parameters, "dbname", environment.get("PGDATABASE"));
        return Optional.of("postgresql://?" + String.join("&", parameters));
    }

    private static void add(List<String> parameters, String name, @Nullable String value) {
        if (value != null && !value.isEmpty()) {
            parameters.add(name + "=" + URLEncoder.encode(value, UTF_8).replace("+", "%20"));
        }
    }

    /**
     * Parses a server as it will be in the shard map. Error messages do not repeat the URL, or a name that may be one: it may contain a
     * password.
     *
     * @throws CliException if the name or the URL is not valid for a server, or the URL contains a password
     */
    public static Server server(String name, String url, Optional<String> applicationUrl, Map<String, String> labels) {
        if (name.contains("://")) {
            throw CliException.usage("the server's name is missing, or comes after its URL; it goes first");
        }
        requireNoPassword("URL", name, url, "~/.pgpass or PGPASSWORD");
        applicationUrl.ifPresent(
                other -> requireNoPassword("application URL", name, other, "~/.pgpass, or to the router"));
        try {
            return new Server(name, url, applicationUrl, labels);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }

    private static void requireNoPassword(String which, String name, String url, String elsewhere) {
        if (holdsPassword(url)) {
            throw new CliException(
                    Kind.USAGE,
                    "the %s of server %s holds a password, which everyone who reads the shard map would see"
                            .formatted(which, name),
                    "leave it out of the URL and give it in " + elsewhere);
        }
    }

    /** Whether a URL lacks a password, which then has to come from elsewhere. */
    public static boolean lacksPassword(String url) {
        return parse(url, Map.of()).dataSource().getPassword() == null;
    }

    /** Whether a URL holds a password, according to the driver, which also recognizes percent-encoded parameters. */
    private static boolean holdsPassword(String url) {
        PGSimpleDataSource source = parse(url, Map.of()).dataSource();
        return source.getPassword() != null || source.getSslPassword() != null;
    }

    /**
     * Connects to the primary, in auto-commit mode. The caller closes the connection.
     *
     * @throws ServerFailedException if the server cannot be reached, refuses, or is a standby
     */
    public static Connection connect(ServerUrl url) {
        try {
            return url.connect("shardflake");
        } catch (SQLException e) {
            throw ServerFailedException.connecting(url, e);
        }
    }
}
