/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Sizing;

/** The whole comparison, from starting servers to writing its page. */
public final class IdComparison {

    private IdComparison() {}

    /** Measures, prints the goals and writes {@code ids.md}. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("src/benchmarks", "IdSchemes", "ids.");
        Sizes sizes = Sizes.of(sizing);
        try (Servers servers = Servers.start();
                Comparison comparison = new Comparison(servers, sizes);
                Connection connection = servers.connect()) {
            String machine = Machine.describe(connection);
            Results results = comparison.run();
            Goals.of(results).forEach(System.out::println);
            IdPage.of(results, sizes, machine, sizing).write(Report.directory(), "ids");
        }
    }
}
