/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardSet;
import org.shardflake.load.ShardRate;
import org.shardflake.move.Move;
import org.shardflake.move.MoveShard;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.ShardPhase;
import org.shardflake.move.StreamStatus;
import org.shardflake.server.ServerUrl;
import org.shardflake.watch.InstallationSnapshot;
import org.shardflake.watch.PlacementState;
import org.shardflake.watch.ServerSnapshot;

/** Writes a snapshot as JSON for the page. It has the addresses of servers, but no passwords. */
final class SnapshotJson {

    private static final StreamStatus UNKNOWN = new StreamStatus(false, 0, 0, 0, "");

    private final View view;
    private final InstallationSnapshot snapshot;
    private final Questions questions;
    private final ShardSet inOldDatabase;

    SnapshotJson(View view, Questions questions) {
        this.view = view;
        this.snapshot = view.snapshot();
        this.questions = questions;
        this.inOldDatabase = snapshot.inOldDatabase();
    }

    /** The facts about the installation and its servers. */
    Map<String, Object> now() {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("at", snapshot.at().toString());
        facts.put(
                "catalog", !snapshot.catalogAnswers() ? "silent" : snapshot.catalogIsStandby() ? "standby" : "answers");
        facts.put("version", snapshot.map().version());
        facts.put("shards", view.shardCount());
        facts.put("servers", snapshot.map().servers().stream().map(this::server).toList());
        snapshot.restorePoint().ifPresent(at -> facts.put("restorePoint", at.toString()));
        return facts;
    }

    private Map<String, @Nullable Object> server(Server server) {
        Map<String, @Nullable Object> facts = new LinkedHashMap<>();
        facts.put("name", server.name());
        facts.put("hosts", ServerUrl.parse(server.url()).hosts());
        ServerSnapshot seen = snapshot.servers().get(server.name());
        facts.put("answers", seen != null);
        Map<String, Integer> states = new LinkedHashMap<>();
        snapshot.shards(server).forEach((state, count) -> states.put(state.toString(), count));
        facts.put("states", states);
        facts.put(
                "inOldDatabase",
                snapshot.map().shards(server).and(inOldDatabase).size());
        facts.put("misplaced", snapshot.misplaced(server).toString());
        if (seen != null) {
            facts.put("version", seen.version());
            facts.put("connections", seen.connections());
            facts.put("maxConnections", seen.maxConnections());
            facts.put("standbys", seen.standbys().size());
            facts.put(
                    "standbyLagMillis",
                    seen.standbys().stream()
                            .mapToLong(ServerSnapshot.Standby::lagMillis)
                            .max()
                            .orElse(0));
            facts.put("bytes", bytes(seen));
            ShardRate rate = view.servers().get(server.name());
            facts.put("written", rate == null ? null : tenth(rate.written()));
            facts.put("read", rate == null ? null : tenth(rate.read()));
        }
        return facts;
    }

    /** The total size of all shards, or null until all sizes have been read. */
    private static @Nullable Long bytes(ServerSnapshot seen) {
        List<ServerSnapshot.Load> loads =
                seen.shards().values().stream().map(ServerSnapshot.Shard::load).toList();
        return loads.stream().allMatch(load -> load.tableBytes().isPresent())
                ? loads.stream().mapToLong(ServerSnapshot.Load::bytes).sum()
                : null;
    }

    /** The facts about shards, in the order of their numbers. */
    Map<String, Object> shards() {
        List<Server> servers = snapshot.map().servers();
        Map<String, Integer> positions = new LinkedHashMap<>();
        servers.forEach(server -> positions.put(server.name(), positions.size()));
        int count = view.shardCount();
        List<Integer> homes = new ArrayList<>(count);
        StringBuilder states = new StringBuilder(count);
        List<@Nullable Long> bytes = new ArrayList<>(count);
        List<@Nullable Double> rates = new ArrayList<>(count);
        for (int shard = 0; shard < count; shard++) {
            homes.add(positions.get(snapshot.map().server(shard).name()));
            PlacementState state = snapshot.state(shard);
            states.append(state == PlacementState.OPEN && inOldDatabase.contains(shard) ? 'a' : letter(state));
            OptionalLong size = view.bytes(shard);
            bytes.add(size.isPresent() ? size.getAsLong() : null);
            rates.add(view.rate(shard)
                    .map(rate -> tenth(rate.written() + rate.read()))
                    .orElse(null));
        }
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("servers", List.copyOf(positions.keySet()));
        facts.put("homes", homes);
        facts.put("states", states.toString());
        facts.put("bytes", bytes);
        facts.put("rates", rates);
        return facts;
    }

    private static char letter(PlacementState state) {
        return switch (state) {
            case OPEN -> 'o';
            case CLOSED -> 'c';
            case BACK -> 'b';
            case MOVING -> 'm';
            case MISSING -> 'x';
            case MISPLACED -> 'p';
            case UNKNOWN -> 'u';
        };
    }

    static double tenth(double value) {
        return Math.round(value * 10) / 10.0;
    }

    List<Map<String, Object>> moves() {
        return snapshot.moves().stream().map(this::move).toList();
    }

    private Map<String, Object> move(Move move) {
        MoveStatus status = snapshot.status(move).orElseGet(() -> new MoveStatus(move, Map.of(), UNKNOWN, UNKNOWN));
        Map<String, Object> facts = new LinkedHashMap<>(questions.move(status));
        facts.remove("shardDetails"); // Of thousands of shards, each second.
        if (!move.shardSet().stream().allMatch(status.bytes()::containsKey)) {
            facts.remove("bytes"); // The sum of those that are known would look like progress.
            facts.remove("copySecondsLeft");
        }
        snapshot.lagMillis(move, "forward").ifPresent(millis -> facts.put("forwardMillis", millis));
        snapshot.lagMillis(move, "reverse").ifPresent(millis -> facts.put("reverseMillis", millis));
        facts.put("known", snapshot.status(move).isPresent());
        facts.put("comparing", snapshot.isComparing(move));
        facts.put("count", move.shards().size());
        Map<String, String> phases = new LinkedHashMap<>();
        for (ShardPhase phase : ShardPhase.values()) {
            phases.put(phase.toString(), move.shardSet(phase).toString());
        }
        facts.put("phases", phases);
        facts.put(
                "pauses",
                move.shards().stream()
                        .map(MoveShard::pauseMillis)
                        .filter(pause -> pause.isPresent())
                        .map(pause -> tenth(pause.getAsDouble()))
                        .toList());
        // While a command works on a move, it refuses all others.
        boolean isBusy = Boolean.TRUE.equals(facts.get("commandRuns"));
        facts.put("commands", isBusy ? List.of() : commands(move));
        return facts;
    }

    /** The commands that apply to a move in its phase. */
    private List<Map<String, Object>> commands(Move move) {
        List<Map<String, Object>> commands = new ArrayList<>();
        boolean allSwitched =
                move.shardSet(ShardPhase.SWITCHED).size() == move.shards().size();
        boolean someSwitched = !move.shardSet(ShardPhase.SWITCHED).isEmpty();
        switch (move.phase()) {
            case PREPARING, COPYING, CATCHING_UP -> {
                add(commands, "continue (only if its command no longer runs)", move.nextCommand());
                add(commands, "cancel", move.cancelCommand());
            }
            case FOLLOWING -> {
                if (allSwitched) {
                    add(commands, "complete", CliCommand.MOVE_COMPLETE.with(move.id()));
                } else {
                    add(commands, "cut over", move.nextCommand());
                }
                if (someSwitched) {
                    add(commands, "bring back", CliCommand.MOVE_REVERSE.with(move.id()));
                } else {
                    add(commands, "cancel", CliCommand.MOVE_CANCEL.with(move.id()));
                }
            }
            case COMPLETING, CANCELLING ->
                add(commands, "continue (only if its command no longer runs)", move.nextCommand());
        }
        return commands;
    }

    private void add(List<Map<String, Object>> commands, String what, CliCommand command) {
        commands.add(Map.of("what", what, "command", questions.command(command)));
    }
}
