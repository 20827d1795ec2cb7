/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.Objects;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.rebalance.RebalanceBy;
import org.shardflake.rebalance.RebalancePlan;
import org.shardflake.rebalance.RebalancePlan.Change;
import org.shardflake.rebalance.RebalancePlan.Move;
import org.shardflake.rebalance.RebalancePlan.ServerChange;

/** Shows a plan to people. */
final class PlanView {

    private PlanView() {}

    static String text(RebalancePlan plan) {
        String servers = servers(plan).toString();
        if (plan.moves().isEmpty()) {
            return servers + "\nnothing to do: " + why(plan);
        }
        return "%s%n%s%nmoves %s of the shard map's version %d"
                .formatted(servers, moves(plan), ShardMapView.count(plan.shardCount()), plan.mapVersion());
    }

    private static String why(RebalancePlan plan) {
        boolean balanced = plan.servers().stream()
                .allMatch(server -> Math.abs(server.load().before() - 100) <= plan.threshold());
        return balanced
                ? "every server is within %d %% of the mean".formatted(plan.threshold())
                : "no move would bring the servers closer to each other and be worth it";
    }

    private static TableWriter servers(RebalancePlan plan) {
        boolean bytes = plan.by() == RebalanceBy.BYTES;
        TableWriter table = bytes
                ? new TableWriter("SERVER", "SHARDS", "AFTER", "BYTES", "AFTER", "LOAD", "AFTER")
                : new TableWriter("SERVER", "SHARDS", "AFTER", "LOAD", "AFTER");
        for (ServerChange server : plan.servers()) {
            Change shards = server.shards();
            String loadBefore = server.load().before() + " %";
            String loadAfter = server.load().after() + " %";
            if (bytes) {
                Change its = Objects.requireNonNull(server.bytes());
                table.row(
                        server.name(),
                        shards.before(),
                        shards.after(),
                        MoveView.bytes(its.before()),
                        MoveView.bytes(its.after()),
                        loadBefore,
                        loadAfter);
            } else {
                table.row(server.name(), shards.before(), shards.after(), loadBefore, loadAfter);
            }
        }
        return table;
    }

    private static TableWriter moves(RebalancePlan plan) {
        boolean bytes = plan.by() == RebalanceBy.BYTES;
        TableWriter table = bytes
                ? new TableWriter("FROM", "TO", "COUNT", "SHARDS", "BYTES", "REASON")
                : new TableWriter("FROM", "TO", "COUNT", "SHARDS", "REASON");
        for (Move move : plan.moves()) {
            int count = move.shards().size();
            String shards = ShardMapView.shorten(move.shards());
            if (bytes) {
                String its = MoveView.bytes(Objects.requireNonNull(move.bytes()));
                table.row(move.from(), move.to(), count, shards, its, move.reason());
            } else {
                table.row(move.from(), move.to(), count, shards, move.reason());
            }
        }
        return table;
    }
}
