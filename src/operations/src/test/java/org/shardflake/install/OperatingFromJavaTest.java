/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.install;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.AdoptTable;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.deploy.DeployReport;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.doctor.Doctor;
import org.shardflake.doctor.Finding;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.parallel.ParallelMoves;
import org.shardflake.rebalance.PlanRun;
import org.shardflake.rebalance.RebalanceBy;
import org.shardflake.rebalance.RebalancePlan;
import org.shardflake.rebalance.RebalancePlanner;
import org.shardflake.rebalance.RebalanceSettings;
import org.shardflake.server.ServerUrl;

/** The page of the guide, from beginning to end. */
class OperatingFromJavaTest {

    private static final Path PAGE = Path.of("../docs/guide/operating-from-java.md");
    private static final Path THIS = Path.of("src/test/java/org/shardflake/install/OperatingFromJavaTest.java");
    private static final int ROWS = 80;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    @Test
    void theEnginesWorkTogether() throws Exception {
        String catalogUrl = postgres.database(0).uri();
        String url1 = postgres.database(0).uri();
        String url2 = postgres.database(1).uri();
        String oldUrl = postgres.database(2).uri();
        Files.writeString(directory.resolve("photos.sql"), """
                --liquibase formatted sql
                --changeset app:photo
                CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text);
                """);
        try (Connection old = postgres.database(2).connect()) {
            Sql.execute(
                    old,
                    "CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text); INSERT INTO photo SELECT n, n, 'photo ' || n FROM generate_series(1, %s) n"
                            .formatted(ROWS));
        }

        ServerUrl catalog = ServerUrl.parse(catalogUrl);
        Installation installation = Installation.at(catalog);
        installation.create(
                ShardMap.initial(
                        new Sharding(8), IdLayout.DEFAULT, List.of(new Server("db1", url1)), Spread.CONTIGUOUS),
                "the first server");
        installation.add(new Server("db2", url2), "more room");
        DeployReport report =
                installation.deploy(directory.resolve("photos.sql"), DeploySettings.defaults(directory), done -> {});
        assertThat(report.failures()).isEmpty();

        try (DatabaseAdopter adopter = DatabaseAdopter.open(
                DatabaseSettings.of(AdoptTable.of("public.photo", null, "uid")),
                ServerUrl.parse(oldUrl),
                catalog,
                ShardCatalog.at(catalog).load(),
                server -> ServerUrl.parse(server.url()),
                AdoptListener.NONE)) {
            adopter.plan(); // checks everything, and changes nothing
            adopter.run(); // copies while the table takes writes, and may be repeated
            adopter.finish(); // closes the table, brings the rest over, compares
        }
        assertThat(rows(0, 0, 8)).isEqualTo(ROWS);

        Mover mover = Mover.at(catalog, MoveSettings.DEFAULT, MoveListener.NONE);
        Move move = mover.beginOrResume("db1", "db2", ShardSet.parse("6-7"), "db1 is full");
        mover.carryOut(move, false);
        assertThat(mover.moves()).isEmpty();
        assertThat(rows(1, 6, 8)).isEqualTo(ROWS / 4);

        ShardMap map = ShardCatalog.at(catalog).load();
        RebalancePlan plan = RebalancePlanner.plan(map, shard -> 0, RebalanceSettings.by(RebalanceBy.COUNT));
        new PlanRun(plan, ShardCatalog.at(catalog)).run(new ParallelMoves(mover, "rebalanced"));
        map = ShardCatalog.at(catalog).load();
        assertThat(map.shards(map.server("db2")).size()).isEqualTo(4);

        List<Finding> findings = new Doctor(catalog, installation.urls(map), mover).examine();
        assertThat(findings).isEmpty();
    }

    private static long rows(int server, int from, int to) throws Exception {
        long rows = 0;
        try (Connection connection = postgres.database(server).connect()) {
            for (int shard = from; shard < to; shard++) {
                rows += Sql.number(connection, "SELECT count(*) FROM %s.photo".formatted(Sharding.schema(shard)));
            }
        }
        return rows;
    }

    @Test
    void everyLineOfThePageIsRunHere() throws IOException {
        String here = Files.readString(THIS).replaceAll("\\s+", "");
        List<String> blocks = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL)
                .matcher(Files.readString(PAGE))
                .results()
                .map(block -> block.group(1).replaceAll("\\s+", ""))
                .toList();

        assertThat(blocks).hasSizeGreaterThan(4);
        blocks.forEach(block -> assertThat(here).contains(block));
    }
}
