/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.DoubleBinaryOperator;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.load.LoadSample;
import org.shardflake.load.ShardRate;
import org.shardflake.move.Move;
import org.shardflake.move.MoveShard;
import org.shardflake.watch.InstallationSnapshot;
import org.shardflake.watch.ServerSnapshot;

/** The figures of servers in the last hour, in steps, for the page's charts. Not thread-safe. */
final class Curves {

    private static final Duration HOUR = Duration.ofHours(1);

    /** The time between two points; an hour has 360 of them. */
    private static final Duration STEP = Duration.ofSeconds(10);

    /** The time between two points above which the chart has a gap. */
    private static final Duration GAP = Duration.ofSeconds(150);

    /** The number of servers up to which each has its own curve. More could not be told apart. */
    private static final int MOST_SERVERS = 8;

    private final Deque<Point> points = new ArrayDeque<>();
    private final Map<Instant, Double> pauses = new TreeMap<>();
    private @Nullable LoadSample before;

    /** The figures of one server at one time. */
    private record Figures(
            @Nullable ShardRate rate,
            double connections,
            @Nullable Double lag) {}

    private record Point(Instant at, Map<String, Figures> servers) {}

    /** Adds a snapshot. Returns whether there is a new point. */
    boolean add(InstallationSnapshot snapshot) {
        addPauses(snapshot);
        Point last = points.peekLast();
        if (last != null && last.at().plus(STEP).isAfter(snapshot.at())) {
            return false;
        }
        if (last != null && last.at().plus(GAP).isBefore(snapshot.at())) {
            points.addLast(new Point(last.at().plus(STEP), Map.of()));
            before = null;
        }
        points.addLast(new Point(snapshot.at(), figures(snapshot)));
        Instant begin = snapshot.at().minus(HOUR);
        points.removeIf(point -> point.at().isBefore(begin));
        pauses.keySet().removeIf(begin::isAfter);
        return true;
    }

    private Map<String, Figures> figures(InstallationSnapshot snapshot) {
        LoadSample sample = Rates.sample(snapshot, System.nanoTime());
        Map<String, ShardRate> rates = before == null ? Map.of() : sample.byServer(before);
        before = sample;
        Map<String, Figures> figures = new LinkedHashMap<>();
        snapshot.servers()
                .forEach((server, seen) -> figures.put(
                        server,
                        new Figures(rates.get(server), 100.0 * seen.connections() / seen.maxConnections(), lag(seen))));
        return figures;
    }

    /** The lag of a server's slowest follower, in seconds; null if it has no follower. */
    private static @Nullable Double lag(ServerSnapshot seen) {
        return Stream.concat(
                        seen.standbys().stream().map(standby -> standby.lagMillis() / 1000.0),
                        seen.slots().stream()
                                .flatMap(slot -> slot.lagMillis().stream().boxed())
                                .map(millis -> millis / 1000.0))
                .max(Double::compare)
                .orElse(null);
    }

    private void addPauses(InstallationSnapshot snapshot) {
        for (Move move : snapshot.moves()) {
            for (MoveShard shard : move.shards()) {
                if (shard.switchedAt().isPresent() && shard.pauseMillis().isPresent()) {
                    long second = shard.switchedAt().get().getEpochSecond();
                    Instant step = Instant.ofEpochSecond(second - second % STEP.toSeconds());
                    pauses.merge(step, shard.pauseMillis().getAsDouble(), Math::max);
                }
            }
        }
    }

    /** All curves, as facts for the page. A value that is not known is null. */
    Map<String, Object> facts() {
        Map<String, Object> facts = new LinkedHashMap<>();
        TreeSet<String> servers = new TreeSet<>();
        points.forEach(point -> servers.addAll(point.servers().keySet()));
        boolean areMany = servers.size() > MOST_SERVERS;
        facts.put("servers", areMany ? List.of("all %s servers".formatted(servers.size())) : servers);
        facts.put(
                "times",
                points.stream().map(point -> point.at().getEpochSecond()).toList());
        facts.put("written", curves(servers, areMany, Double::sum, of(ShardRate::written)));
        facts.put("read", curves(servers, areMany, Double::sum, of(ShardRate::read)));
        facts.put("connections", curves(servers, areMany, Math::max, Figures::connections));
        facts.put("lag", curves(servers, areMany, Math::max, Figures::lag));
        facts.put(
                "pauseTimes",
                pauses.keySet().stream().map(Instant::getEpochSecond).toList());
        facts.put("pauses", pauses.values().stream().map(SnapshotJson::tenth).toList());
        return facts;
    }

    private static Function<Figures, @Nullable Double> of(Function<ShardRate, Double> value) {
        return figures -> figures.rate() == null ? null : value.apply(figures.rate());
    }

    private List<List<@Nullable Double>> curves(
            Set<String> servers,
            boolean areMany,
            DoubleBinaryOperator merge,
            Function<Figures, @Nullable Double> value) {
        List<List<@Nullable Double>> curves = new ArrayList<>();
        if (areMany) {
            curves.add(curve(point -> point.servers().values().stream()
                    .map(value)
                    .filter(Objects::nonNull)
                    .reduce(merge::applyAsDouble)
                    .orElse(null)));
            return curves;
        }
        for (String server : servers) {
            curves.add(curve(point -> {
                Figures figures = point.servers().get(server);
                return figures == null ? null : value.apply(figures);
            }));
        }
        return curves;
    }

    private List<@Nullable Double> curve(Function<Point, @Nullable Double> value) {
        List<@Nullable Double> curve = new ArrayList<>();
        for (Point point : points) {
            Double known = value.apply(point);
            curve.add(known == null ? null : Math.round(known * 1000) / 1000.0);
        }
        return curve;
    }
}
