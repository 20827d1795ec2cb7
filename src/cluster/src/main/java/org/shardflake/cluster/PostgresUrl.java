/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A server's address in JDBC or libpq form; the database is ignored.
 *
 * @param password empty when the URL has none
 * @param parameters connection parameters that JDBC and libpq call by the same name
 */
record PostgresUrl(String host, int port, String user, String password, Map<String, String> parameters) {
    private static final Pattern URL = Pattern.compile("(?<jdbc>jdbc:)?postgres(?:ql)?://(?:(?<userinfo>[^@/?]*)@)?"
            + "(?<host>\\[[^]]+]|[^:/?@,]*)(?::(?<port>\\d{1,5}))?(?:/[^?/]*)?(?:\\?(?<query>.*))?");
    private static final List<String> PARAMETERS = List.of("sslmode", "sslrootcert", "sslcert", "sslkey");

    /** Parses a URL; port 5432 and user {@code postgres} are the defaults. */
    static PostgresUrl parse(String text) {
        Matcher url = URL.matcher(text);
        if (!url.matches()) {
            throw invalid(text, "allowed: jdbc:postgresql://host:port/ or postgresql://user:password@host:port/");
        }
        boolean jdbc = url.group("jdbc") != null;
        String host = url.group("host").isEmpty() ? "localhost" : url.group("host");
        int port = url.group("port") == null ? 5432 : Integer.parseInt(url.group("port"));
        if (port < 1 || port > 65535) {
            throw invalid(text, "port " + port + " is out of range 1..65535");
        }
        String user = "postgres";
        String password = "";
        String userinfo = url.group("userinfo");
        if (userinfo != null) {
            String[] parts = userinfo.split(":", 2);
            user = parts[0].isEmpty() ? user : decode(text, parts[0], false);
            password = parts.length < 2 ? "" : decode(text, parts[1], false);
        }
        Map<String, String> parameters = new LinkedHashMap<>();
        if (url.group("query") != null) {
            for (String parameter : url.group("query").split("&", -1)) {
                String[] parts = parameter.split("=", 2);
                // JDBC reads a plus in the query as a space, libpq as a plus.
                String value = parts.length < 2 ? "" : decode(text, parts[1], jdbc);
                switch (parts[0]) {
                    case "user" -> user = value;
                    case "password" -> password = value;
                    default -> {
                        if (!PARAMETERS.contains(parts[0])) {
                            throw invalid(
                                    text,
                                    "parameter \"" + parts[0] + "\" is not one of user, password, "
                                            + String.join(", ", PARAMETERS));
                        }
                        parameters.put(parts[0], value);
                    }
                }
            }
        }
        return new PostgresUrl(host, port, user, password, Map.copyOf(parameters));
    }

    /** The address for messages, without the password. */
    @Override
    public String toString() {
        return "postgresql://" + user + "@" + host + ":" + port + "/";
    }

    private static String decode(String url, String text, boolean plusIsSpace) {
        try {
            return URLDecoder.decode(plusIsSpace ? text : text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw invalid(url, "the percent-encoding is broken");
        }
    }

    private static IllegalArgumentException invalid(String url, String why) {
        String withoutPassword = url.replaceAll("://.*@", "://***@").replaceAll("password=[^&]*", "password=***");
        return new IllegalArgumentException("cannot use \"" + withoutPassword + "\" as a server: " + why);
    }
}
