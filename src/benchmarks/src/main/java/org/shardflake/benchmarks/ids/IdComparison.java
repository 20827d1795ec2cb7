/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.nio.file.Path;
import java.sql.Connection;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;

/** The whole comparison, from starting servers to writing its page. */
public final class IdComparison {

    private IdComparison() {}

    /** Measures, prints the goals and writes the page. */
    public static void run() throws Exception {
        Sizes sizes = Sizes.fromProperties();
        try (Servers servers = Servers.start();
                Comparison comparison = new Comparison(servers, sizes);
                Connection connection = servers.connect()) {
            String machine = Machine.describe(connection);
            Results results = comparison.run();
            Goal.of(results).forEach(System.out::println);
            Path directory = Report.directory();
            IdPage.of(results, sizes, machine, sizes.command()).write(directory, "ids");
        }
    }
}
