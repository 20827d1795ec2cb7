/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** The origin of the servers of a {@link PostgresCluster}. */
public enum PostgresProvider {
    /** External if URLs are given, otherwise Testcontainers if a Docker engine has the images, otherwise embedded. */
    AUTO,
    /** PostgreSQL binaries from the class path, run by this JVM; needs neither Docker nor an installed PostgreSQL. */
    EMBEDDED,
    /** Containers on a Docker engine. */
    TESTCONTAINERS,
    /** Running servers given by URL, which the cluster uses but never starts or stops. */
    EXTERNAL;

    static PostgresProvider parse(String text) {
        for (PostgresProvider provider : values()) {
            if (provider.toString().equals(text)) {
                return provider;
            }
        }
        throw new IllegalArgumentException("unknown postgres.provider \"" + text + "\", allowed: "
                + Arrays.stream(values()).map(PostgresProvider::toString).collect(Collectors.joining(", ")));
    }

    /** The name as given on the command line, such as {@code embedded}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
