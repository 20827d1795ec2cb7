/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * Programs that some tests need and not every machine has, such as PgBouncer, Patroni, Chromium and Prometheus.
 *
 * <p>A test is skipped without them. Where the environment variable {@code SHARDFLAKE_TOOLS} is {@code required}, it fails.
 */
public final class NeededPrograms {
    private static final boolean REQUIRED = "required".equals(System.getenv("SHARDFLAKE_TOOLS"));

    private NeededPrograms() {}

    /** Skips the test unless its programs are installed. */
    public static void assume(boolean areInstalled, String programs) {
        if (REQUIRED) {
            assertTrue(areInstalled, "SHARDFLAKE_TOOLS is required, and not installed: " + programs);
        }
        assumeTrue(areInstalled, "not installed: " + programs);
    }
}
