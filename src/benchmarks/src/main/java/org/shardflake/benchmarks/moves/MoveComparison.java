/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.sql.Connection;
import org.shardflake.benchmarks.installation.CommandStart;
import org.shardflake.benchmarks.installation.Installation;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.report.Spread;
import org.shardflake.cluster.PostgresCluster;

/** All that is measured about moves, from starting servers to writing the page. */
public final class MoveComparison {

    private MoveComparison() {}

    /** Measures, prints the goals and writes {@code moves.md}. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("generator-cli,src/benchmarks", "Moves", "moves.");
        Sizes sizes = Sizes.of(sizing);
        try (PostgresCluster cluster = Installation.startServers(2);
                Connection connection = cluster.server(0).connect()) {
            String obstacle = DumpAndRestore.obstacle(cluster.server(0));
            if (!obstacle.isEmpty()) {
                System.out.println("moves will not be compared with pg_dump: " + obstacle);
            }
            Results results = measure(cluster, sizes);
            results.targets().forEach(System.out::println);
            new MovePage(results, sizes)
                    .write(Machine.describe(connection), sizing)
                    .write(Report.directory(), "moves");
        }
    }

    private static Results measure(PostgresCluster cluster, Sizes sizes) throws Exception {
        Spread start = CommandStart.seconds(sizes.rounds());
        System.out.println("whole moves beside dump and restore");
        DumpComparison dumps = DumpComparison.measure(cluster, sizes);
        System.out.println("cutovers under load");
        CutoverPauses pauses = CutoverPauses.measure(cluster, sizes);
        return new Results(start, dumps, pauses);
    }
}
