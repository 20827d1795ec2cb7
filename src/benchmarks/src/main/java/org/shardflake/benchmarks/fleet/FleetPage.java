/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.io.IOException;
import java.util.List;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;

/** The page about a fleet that no one machine can be. */
public final class FleetPage {

    private static final String COMMAND =
            "./mvnw -q -Dquick -DskipTests -pl src/benchmarks -am verify -Dbenchmark=FleetSimulation";

    private FleetPage() {}

    /** Simulates and writes the page. */
    public static void write() throws IOException {
        Report report = of(Setting.full());
        report.write(Report.directory(), "fleet");
    }

    static Report of(Setting setting) {
        List<Part> parts = List.of(
                new ImbalancePart(setting),
                new RebalancePart(setting),
                new GrowthPart(setting),
                new DrainPart(setting),
                new ConnectionsPart(setting),
                new CapacityPart(),
                new HotShardsPart(setting));
        Report report = new Report("A simulated fleet of 64 to 512 servers");
        report.paragraph("""
                **This is a simulation.** No server was started for it, and nothing on this page was measured but what a move takes, which is
                linked where it is used. It says what follows from its assumptions: %d logical shards on 64 to 512 servers, %s in all. Each
                section has its own assumptions, formula, table and conclusion; where there is a closed formula, the simulation stands beside it.
                What does not come from a formula is drawn at random with the seed %d, so every run gives the same figures. Figures with
                parentheses are medians, with the least and the greatest.
                """.formatted(Setting.SHARDS, Units.bytes(Setting.BYTES), setting.seed()));
        report.command(COMMAND).paragraph("On %s; the figures do not depend on it.".formatted(Machine.describe()));
        report.section("At a glance")
                .table(
                        List.of("What", "Simulated"),
                        parts.stream()
                                .flatMap(part -> part.answers().stream())
                                .map(answer -> List.of(answer.question(), answer.answer()))
                                .toList());
        parts.forEach(part -> part.write(report));
        return report.section("What is not simulated")
                .list(List.of(
                        "Failures: servers that break, fail over or answer slowly for a while.",
                        "Load that changes from hour to hour. Rebalancing sees one moment, and so does this.",
                        "What a hot shard does to the shards beside it: load is a number here, without processors, disks and locks.",
                        "Servers of different sizes, racks, zones, and networks between them that many moves share.",
                        "The catalog and the routers with that many servers."));
    }
}
