/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** The system properties that configure servers; an empty property counts as unset. */
final class SystemProperties {
    static final int LATEST = 18;

    private static final List<String> VERSIONS = List.of("15", "16", "17", "18");

    private SystemProperties() {}

    static PostgresProvider provider() {
        return get("postgres.provider").map(PostgresProvider::parse).orElse(PostgresProvider.AUTO);
    }

    /** The version; empty if any will do, in which case {@link #LATEST} is used where one must be named. */
    static OptionalInt version() {
        return get("postgres.version").stream()
                .mapToInt(SystemProperties::checkVersion)
                .findFirst();
    }

    static List<String> urls() {
        return get("postgres.urls").stream()
                .flatMap(urls -> Arrays.stream(urls.split(",", -1)))
                .map(String::strip)
                .filter(url -> !url.isEmpty())
                .toList();
    }

    static Optional<String> get(String name) {
        return Optional.ofNullable(System.getProperty(name)).map(String::strip).filter(value -> !value.isEmpty());
    }

    static int checkVersion(String version) {
        if (!VERSIONS.contains(version)) {
            throw new IllegalArgumentException(
                    "unknown postgres.version \"" + version + "\", allowed: " + String.join(", ", VERSIONS));
        }
        return Integer.parseInt(version);
    }
}
