/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.rebalance;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.rebalance.RebalancePlan;
import org.shardflake.rebalance.RebalancePlan.Change;
import org.shardflake.rebalance.RebalancePlan.Move;
import org.shardflake.rebalance.RebalancePlan.ServerChange;

/** Shows a plan as text. */
public final class PlanView {

    private PlanView() {}

    public static String text(RebalancePlan plan) {
        String servers = servers(plan).toString();
        if (plan.moves().isEmpty()) {
            return servers + "\nnothing to do: " + why(plan);
        }
        String cost = plan.bytes().isPresent()
                ? " (%s to copy)".formatted(Amounts.bytes(plan.bytes().getAsLong()))
                : "";
        return "%s%n%s%nmoves %s%s of the shard map's version %s"
                .formatted(servers, moves(plan), Amounts.shards(plan.shardCount()), cost, plan.mapVersion());
    }

    private static String why(RebalancePlan plan) {
        if (plan.servers().stream().allMatch(server -> server.load().before() == 0)) {
            return "there is no load";
        }
        boolean balanced = plan.servers().stream()
                .allMatch(server -> Math.abs(server.load().before() - 100) <= plan.threshold());
        return balanced
                ? "every server is within %s %% of the mean".formatted(plan.threshold())
                : "no move would bring the servers closer to each other and be worth it";
    }

    private static TableWriter servers(RebalancePlan plan) {
        List<String> headers = new ArrayList<>(List.of("SERVER", "SHARDS", "AFTER"));
        if (plan.by().hasBytes()) {
            headers.addAll(List.of("BYTES", "AFTER"));
        }
        if (plan.by().isByRate()) {
            headers.addAll(List.of("WRITTEN/S", "AFTER"));
        }
        headers.addAll(List.of("LOAD", "AFTER"));
        TableWriter table = new TableWriter(headers.toArray(String[]::new));
        plan.servers().forEach(server -> table.row(row(server)));
        return table;
    }

    private static Object[] row(ServerChange server) {
        List<Object> row = new ArrayList<>(List.of(server.name()));
        add(row, server.shards(), String::valueOf);
        add(row, server.bytes(), Amounts::bytes);
        add(row, server.rate(), Amounts::rate);
        add(row, server.load(), percent -> percent + " %");
        return row.toArray();
    }

    private static void add(List<Object> row, @Nullable Change change, LongFunction<String> format) {
        if (change != null) {
            row.add(format.apply(change.before()));
            row.add(format.apply(change.after()));
        }
    }

    private static TableWriter moves(RebalancePlan plan) {
        boolean bytes = plan.by().hasBytes();
        TableWriter table = bytes
                ? new TableWriter("FROM", "TO", "COUNT", "SHARDS", "BYTES", "REASON")
                : new TableWriter("FROM", "TO", "COUNT", "SHARDS", "REASON");
        for (Move move : plan.moves()) {
            int count = move.shards().size();
            String shards = TableWriter.shorten(move.shards());
            if (bytes) {
                String its = Amounts.bytes(Objects.requireNonNull(move.bytes()));
                table.row(move.from(), move.to(), count, shards, its, move.reason());
            } else {
                table.row(move.from(), move.to(), count, shards, move.reason());
            }
        }
        return table;
    }
}
