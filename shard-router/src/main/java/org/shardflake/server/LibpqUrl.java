/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLDecoder;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.postgresql.ds.PGSimpleDataSource;

/** Translates the part of libpq's URLs after {@code postgresql://} into the driver's properties. */
final class LibpqUrl {

    private static final int DEFAULT_PORT = 5432;

    private final PGSimpleDataSource source;
    private String hosts = "";
    private String ports = "";
    private boolean hasService;

    private LibpqUrl(PGSimpleDataSource source) {
        this.source = source;
    }

    static void read(PGSimpleDataSource source, String url) {
        LibpqUrl libpq = new LibpqUrl(source);
        int query = url.indexOf('?');
        if (query >= 0) {
            libpq.readService(url.substring(query + 1));
        }
        libpq.readLocation(query < 0 ? url : url.substring(0, query));
        if (query >= 0) {
            libpq.readParameters(url.substring(query + 1));
        }
        libpq.setServers();
    }

    private void readLocation(String location) {
        int path = location.indexOf('/');
        int at = location.substring(0, path < 0 ? location.length() : path).lastIndexOf('@');
        if (at >= 0) {
            readUser(location.substring(0, at));
        }
        String rest = location.substring(at + 1);
        int slash = rest.indexOf('/');
        if (slash >= 0 && slash + 1 < rest.length()) {
            source.setDatabaseName(decode(rest.substring(slash + 1)));
        }
        splitServers(slash < 0 ? rest : rest.substring(0, slash));
    }

    private void readUser(String user) {
        int colon = user.indexOf(':');
        source.setUser(decode(colon < 0 ? user : user.substring(0, colon)));
        if (colon >= 0) {
            source.setPassword(decode(user.substring(colon + 1)));
        }
    }

    private void splitServers(String servers) {
        List<String> names = new ArrayList<>();
        List<String> numbers = new ArrayList<>();
        for (String server : servers.split(",", -1)) {
            int colon = server.lastIndexOf(':');
            boolean hasPort = colon > server.lastIndexOf(']');
            names.add(decode(hasPort ? server.substring(0, colon) : server));
            numbers.add(hasPort ? server.substring(colon + 1) : "");
        }
        hosts = String.join(",", names);
        ports = String.join(",", numbers);
    }

    /** Reads the service first: other parameters override the service file. */
    private void readService(String query) {
        for (String parameter : query.split("&", -1)) {
            if (parameter.startsWith("service=")) {
                String name = parameter.substring("service=".length());
                try {
                    source.setUrl("jdbc:postgresql://?service=" + name);
                } catch (IllegalArgumentException e) {
                    throw ServerUrl.malformed(
                            "there is no service %s in the service file, ~/.pg_service.conf or what PGSERVICEFILE names"
                                    .formatted(decode(name)));
                }
                hasService = true;
            }
        }
    }

    private void readParameters(String query) {
        for (String parameter : query.split("&", -1)) {
            int equals = parameter.indexOf('=');
            if (equals < 1) {
                throw ServerUrl.malformed("after the ? it needs name=value pairs, separated by &");
            }
            readParameter(decode(parameter.substring(0, equals)), decode(parameter.substring(equals + 1)));
        }
    }

    private void readParameter(String name, String value) {
        switch (name) {
            case "service" -> {
                // Read already.
            }
            case "host" -> hosts = value;
            case "port" -> ports = value;
            case "dbname" -> source.setDatabaseName(value);
            case "user" -> source.setUser(value);
            case "password" -> source.setPassword(value);
            case "connect_timeout" -> set("connectTimeout", seconds(value));
            case "application_name", "fallback_application_name" -> set("ApplicationName", value);
            case "target_session_attrs" -> set("targetServerType", serverType(value));
            case "load_balance_hosts" -> set("loadBalanceHosts", String.valueOf(value.equals("random")));
            case "keepalives" -> set("tcpKeepAlive", String.valueOf(value.equals("1")));
            case "channel_binding" -> set("channelBinding", value);
            case "gssencmode" -> set("gssEncMode", value);
            default -> set(name, value); // sslmode, sslrootcert, options and others have the same name.
        }
    }

    private void set(String property, String value) {
        try {
            source.setProperty(property, value);
        } catch (SQLException e) {
            throw ServerUrl.malformed("parameter %s is not supported".formatted(property));
        } catch (IllegalArgumentException e) {
            throw ServerUrl.malformed("parameter %s cannot be %s".formatted(property, value));
        }
    }

    static String seconds(String value) {
        if (!value.matches("[0-9]{1,9}")) {
            throw ServerUrl.malformed("connect_timeout is not a number of seconds");
        }
        return value;
    }

    private static String serverType(String sessionAttributes) {
        return switch (sessionAttributes) {
            case "read-write", "primary" -> "primary";
            case "read-only", "standby" -> "secondary";
            case "prefer-standby" -> "preferSecondary";
            default -> "any";
        };
    }

    private void setServers() {
        if (hasService && hosts.isEmpty() && ports.isEmpty()) {
            return;
        }
        String[] names = hosts.split(",", -1);
        String[] numbers = ports.split(",", -1);
        if (numbers.length != 1 && numbers.length != names.length) {
            throw ServerUrl.malformed("it has %s hosts but %s ports".formatted(names.length, numbers.length));
        }
        int[] portNumbers = new int[names.length];
        for (int i = 0; i < names.length; i++) {
            if (names[i].startsWith("/")) {
                throw ServerUrl.malformed("a Unix socket cannot be reached from Java; give a host and port");
            }
            names[i] = names[i].isEmpty() ? "localhost" : names[i].replaceAll("^\\[|]$", "");
            portNumbers[i] = port(numbers[numbers.length == 1 ? 0 : i]);
        }
        source.setServerNames(names);
        source.setPortNumbers(portNumbers);
    }

    private static int port(String text) {
        if (text.isEmpty()) {
            return DEFAULT_PORT;
        }
        // The text may be part of a password with an unescaped /, so the message does not repeat it.
        if (!text.matches("[0-9]{1,5}") || Integer.parseInt(text) < 1 || Integer.parseInt(text) > 65535) {
            throw ServerUrl.malformed(
                    "the port is not a number in 1..65535; in a user or password write / as %2F, @ as %40, : as %3A");
        }
        return Integer.parseInt(text);
    }

    private static String decode(String text) {
        try {
            return URLDecoder.decode(text.replace("+", "%2B"), UTF_8); // A plus sign means a plus here, not a space.
        } catch (IllegalArgumentException e) {
            throw ServerUrl.malformed("a % must be followed by two hexadecimal digits; write % itself as %25");
        }
    }
}
