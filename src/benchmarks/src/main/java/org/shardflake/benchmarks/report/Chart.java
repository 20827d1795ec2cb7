/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

/** A picture of figures. */
public sealed interface Chart permits BarChart, LineChart {

    /** What it shows, for those who cannot see it too. */
    String title();

    /** The picture; the same figures give the same text. */
    String toSvg();
}
