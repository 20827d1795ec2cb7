/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** How much is measured, by system properties {@code router.*}. */
record Sizes(
        int shards,
        int rows,
        int poolSize,
        int warmUps,
        int rounds,
        double seconds,
        int starts,
        List<Integer> threads) {

    static Sizes ofProperties() {
        return new Sizes(
                Integer.getInteger("router.shards", 2000),
                Integer.getInteger("router.rows", 100),
                Integer.getInteger("router.pool", 16),
                Integer.getInteger("router.warmups", 2),
                Integer.getInteger("router.rounds", 5),
                Double.parseDouble(System.getProperty("router.seconds", "1")),
                Integer.getInteger("router.starts", 5),
                Arrays.stream(System.getProperty("router.threads", "1,16").split(","))
                        .map(Integer::valueOf)
                        .toList());
    }

    int mostThreads() {
        return Collections.max(threads);
    }

    /** The properties that are not what they are by default, as the command line has them. */
    static String given() {
        return System.getProperties().stringPropertyNames().stream()
                .filter(name -> name.startsWith("router."))
                .sorted()
                .map(name -> " -D%s=%s".formatted(name, System.getProperty(name)))
                .reduce("", String::concat);
    }
}
