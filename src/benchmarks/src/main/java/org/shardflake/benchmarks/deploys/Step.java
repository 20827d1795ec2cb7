/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import org.shardflake.benchmarks.installation.Photos;

/** What is deployed, in this order. */
enum Step {
    FIRST("first deployment", Photos.CHANGELOG, 20),
    RERUN("rerun with nothing to do", Photos.CHANGELOG, 3),
    ALTER("one `ALTER TABLE`", Photos.ALTERED, 10);

    private final String label;
    private final String changelog;
    private final double goalSeconds;

    Step(String label, String changelog, double goalSeconds) {
        this.label = label;
        this.changelog = changelog;
        this.goalSeconds = goalSeconds;
    }

    /** As Markdown. */
    String label() {
        return label;
    }

    String changelog() {
        return changelog;
    }

    /** What it is to take at most, on 2,000 shards on 2 servers. */
    double goalSeconds() {
        return goalSeconds;
    }
}
