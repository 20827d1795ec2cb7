/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLDecoder;
import java.util.Arrays;
import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * A PostgreSQL server in the shard map, on which shards can be placed.
 *
 * <p>The URL is libpq's, {@code postgresql://app@db1.example:5432/app?sslmode=verify-full}, and never holds a password,
 * since many read the map. It may name a primary and its replicas, separated by commas; writes go to the current
 * primary.
 *
 * @param name 1 to 63 lower-case letters, digits, {@code _ . -}, such as {@code db1}
 * @param url the server's address, without secrets
 * @param labels the operators' notes about it, such as its zone
 */
public record Server(String name, String url, Map<String, String> labels) {

    private static final Pattern NAME = Pattern.compile("[a-z0-9]([a-z0-9_.-]{0,61}[a-z0-9])?");
    private static final Pattern USER_WITH_PASSWORD = Pattern.compile("://[^/?]*:[^/?@]*@");
    private static final Set<String> SECRETS = Set.of("password", "sslpassword");

    public Server {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException(
                    "server name \"%s\" is not 1 to 63 of a-z 0-9 _ . - with a letter or digit at both ends"
                            .formatted(name));
        }
        if (holdsPassword(url)) {
            throw new IllegalArgumentException(
                    "the URL of server %s holds a password; the shard map is read by many, so leave it out and give it in ~/.pgpass"
                            .formatted(name));
        }
        if (!url.startsWith("postgresql://")) {
            throw new IllegalArgumentException(
                    "the URL of server %s does not start with postgresql://; write it as postgresql://user@host:5432/database"
                            .formatted(name));
        }
        labels = Collections.unmodifiableMap(new TreeMap<>(labels));
    }

    private static boolean holdsPassword(String url) {
        return USER_WITH_PASSWORD.matcher(url).find()
                || Arrays.stream(url.split("[?&]")).skip(1).anyMatch(Server::isSecret);
    }

    private static boolean isSecret(String parameter) {
        String name = parameter.split("=", 2)[0];
        try {
            return SECRETS.contains(URLDecoder.decode(name, UTF_8).toLowerCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            return true; // Not to be read, so not to be shown to many either.
        }
    }

    /** A server without labels. */
    public Server(String name, String url) {
        this(name, url, Map.of());
    }
}
