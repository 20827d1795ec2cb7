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
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * A PostgreSQL server in the shard map, on which shards can be placed.
 *
 * <p>The URL is libpq's, {@code postgresql://app@db1.example:5432/app?sslmode=verify-full}, and never holds a password,
 * since many read the map. It may name a primary and its replicas, separated by commas; writes go to the current
 * primary. Applications may have a URL of their own, such as that of a connection pooler.
 *
 * @param name 1 to 63 lower-case letters, digits, {@code _ . -}, such as {@code db1}
 * @param url the server's own address, without secrets: commands and other servers connect to it
 * @param applicationUrl the address that routers connect to, if it is another one
 * @param labels the operators' notes about it, such as its zone
 */
public record Server(String name, String url, Optional<String> applicationUrl, Map<String, String> labels) {

    private static final Pattern NAME = Pattern.compile("[a-z0-9]([a-z0-9_.-]{0,61}[a-z0-9])?");
    private static final Pattern USER_WITH_PASSWORD = Pattern.compile("://[^/?]*:[^/?@]*@");
    private static final Set<String> SECRETS = Set.of("password", "sslpassword");

    public Server {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException(
                    "server name \"%s\" is not 1 to 63 of a-z 0-9 _ . - with a letter or digit at both ends"
                            .formatted(name));
        }
        checkUrl("URL", name, url);
        applicationUrl.ifPresent(other -> checkUrl("application URL", name, other));
        labels = Collections.unmodifiableMap(new TreeMap<>(labels));
    }

    private static void checkUrl(String which, String name, String url) {
        if (holdsPassword(url)) {
            throw new IllegalArgumentException(
                    "the %s of server %s holds a password; the shard map is read by many, so leave it out and give it in ~/.pgpass"
                            .formatted(which, name));
        }
        if (!url.startsWith("postgresql://")) {
            throw new IllegalArgumentException(
                    "the %s of server %s does not start with postgresql://; write it as postgresql://user@host:5432/database"
                            .formatted(which, name));
        }
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

    /** A server with the same URL for all clients. */
    public Server(String name, String url, Map<String, String> labels) {
        this(name, url, Optional.empty(), labels);
    }

    /** A server with the same URL for all clients, and without labels. */
    public Server(String name, String url) {
        this(name, url, Map.of());
    }

    /** The address that routers connect to. */
    public String routerUrl() {
        return applicationUrl.orElse(url);
    }
}
