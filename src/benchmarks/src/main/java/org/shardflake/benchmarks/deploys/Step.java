/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import org.shardflake.benchmarks.installation.Photos;

/** What is deployed, in this order. */
enum Step {
    FIRST("first deployment", Photos.CHANGELOG),
    RERUN("rerun with nothing to do", Photos.CHANGELOG),
    ALTER("one `ALTER TABLE`", Photos.ALTERED);

    private final String label;
    private final String changelog;

    Step(String label, String changelog) {
        this.label = label;
        this.changelog = changelog;
    }

    /** As Markdown. */
    String label() {
        return label;
    }

    String changelog() {
        return changelog;
    }
}
