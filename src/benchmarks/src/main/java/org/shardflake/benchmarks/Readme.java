/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.summary.ReadmeSummary;

/** Puts what the benchmarks' pages say of their goals into the README. Measures nothing. */
public final class Readme {

    private Readme() {}

    public static void main(String[] args) throws IOException {
        Path pages = Report.directory();
        Path readme = pages.resolve("../../../README.md").normalize();
        ReadmeSummary summary = new ReadmeSummary(pages);
        Files.writeString(readme, summary.into(Files.readString(readme)));
        summary.missing()
                .forEach(page ->
                        System.out.printf("%s has no page %s.md: nothing of it is in the README%n", pages, page));
    }
}
