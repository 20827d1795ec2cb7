/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.installation.Photos;
import org.shardflake.benchmarks.installation.Writers;
import org.shardflake.benchmarks.moves.MoveComparison.Sizes;
import org.shardflake.benchmarks.moves.RollingProbe.Probe.Pause;
import org.shardflake.benchmarks.moves.WholeMove.CutoverLine;
import org.shardflake.benchmarks.report.Distribution;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.router.ShardRouter;

/**
 * Write pauses of many cutovers under load, and what became of the writes.
 *
 * @param pauses that writers of a shard saw at its cutover, in milliseconds
 * @param without what writers saw in as much time without a cutover, in milliseconds
 * @param said what the command says of the same cutovers, in milliseconds
 * @param attemptsGivenUp that came before a cutover succeeded
 * @param transactions that were acknowledged
 * @param failed transactions, which ended with an exception
 * @param firstFailure the first exception, empty if there was none
 * @param lost writes that were acknowledged and are not there
 * @param doubled rows that are there and were not acknowledged once each
 */
record CutoverPauses(
        Distribution pauses,
        Distribution without,
        Distribution said,
        int attemptsGivenUp,
        long transactions,
        long failed,
        String firstFailure,
        long lost,
        long doubled) {

    private static final int ROWS = 100;
    private static final int WARM_UP_SECONDS = 10;

    static CutoverPauses measure(PostgresCluster cluster, Sizes sizes) throws Exception {
        try (BenchmarkInstallation installation =
                BenchmarkInstallation.onFirst(cluster, "pauses", 2, sizes.groupShards())) {
            installation.deployPhotos(Photos.CHANGELOG);
            ShardSet all = ShardSet.range(0, sizes.groupShards() - 1);
            Photos.fill(installation, "db1", all, ROWS);
            installation.checkpoint();
            try (ShardRouter router = installation.router(sizes.loadThreads() + RollingProbe.AHEAD)) {
                return new Measurement(installation, sizes, new Writes(router, sizes.groupShards())).run();
            }
        }
    }

    private static final class Measurement {

        private final BenchmarkInstallation installation;
        private final Sizes sizes;
        private final Writes writes;
        private final List<Double> said = new ArrayList<>();
        private int attemptsGivenUp;

        Measurement(BenchmarkInstallation installation, Sizes sizes, Writes writes) {
            this.installation = installation;
            this.sizes = sizes;
            this.writes = writes;
        }

        CutoverPauses run() throws Exception {
            List<Pause> pauses;
            List<Pause> without;
            try (Writers writers = new Writers(
                            sizes.groupShards(),
                            sizes.loadThreads(),
                            sizes.loadRestMillis(),
                            (shard, random) -> writes.insertAndChange(shard));
                    RollingProbe probe = new RollingProbe(writes)) {
                TimeUnit.SECONDS.sleep(WARM_UP_SECONDS);
                installation.command().run("move", "start", "--shards", first(sizes.groupShards()), "--to", "db2");
                cutOver(probe);
                pauses = probe.pauses();
                without = probe.withoutCutovers(pauses);
                installation.command().run("move", "cutover");
            }
            installation.command().run("move", "complete", "--yes");
            return result(pauses, without);
        }

        private static String first(int shards) {
            return ShardSet.range(0, shards - 1).toString();
        }

        /** Cuts over there and back in turn, until there are enough probed cutovers. */
        private void cutOver(RollingProbe probe) throws Exception {
            String direction = "cutover";
            for (int left = sizes.cutovers(); left > 0; left -= sizes.groupShards()) {
                int shards = Math.min(left, sizes.groupShards());
                probe.begin(shards);
                // For long enough that every probe has written before the first cutover.
                TimeUnit.MILLISECONDS.sleep(200);
                installation.command().run(line -> heard(line, probe), "move", direction, "--shards", first(shards));
                probe.end();
                direction = direction.equals("cutover") ? "reverse" : "cutover";
            }
        }

        private void heard(String line, RollingProbe probe) {
            if (line.contains("gave itself up")) {
                attemptsGivenUp++;
            }
            CutoverLine.parse(line).ifPresent(cutover -> {
                try {
                    probe.ended(cutover.shard());
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new IllegalStateException("interrupted", e);
                }
                said.add(cutover.pauseMillis());
            });
        }

        private CutoverPauses result(List<Pause> pauses, List<Pause> without) throws Exception {
            long lost = 0;
            long doubled = 0;
            for (int shard = 0; shard < sizes.groupShards(); shard++) {
                long difference = Photos.count(installation, "db2", shard) - ROWS - writes.photos(shard);
                lost += Math.max(0, -difference);
                doubled += Math.max(0, difference);
            }
            return new CutoverPauses(
                    Pause.millis(pauses),
                    Pause.millis(without),
                    Distribution.of(said),
                    attemptsGivenUp,
                    writes.transactions(),
                    writes.failed(),
                    writes.firstFailure(),
                    lost,
                    doubled);
        }
    }
}
