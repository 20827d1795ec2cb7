/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.List;
import org.shardflake.benchmarks.report.Report;

/** One question about fleets, simulated and answered. */
interface Part {

    /** What readers want to know, and the figures that say so. */
    record Answer(String question, String answer) {}

    List<Answer> answers();

    /** Adds its section. */
    void write(Report report);
}
