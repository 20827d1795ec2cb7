/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import static org.apiguardian.api.API.Status.EXPERIMENTAL;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apiguardian.api.API;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.jdbc.Plural;
import org.shardflake.load.CommitLatency;
import org.shardflake.move.parallel.MoveRequest;
import org.shardflake.rebalance.Decision.Choice;
import org.shardflake.server.ServerUrl;

/**
 * Keeps the servers evenly loaded, round by round: measures, plans, moves within a budget, watches commit times, and reverses moves that have
 * slowed them.
 *
 * <p>No move undoes another one: a shard that moved, by whomever, rests, and one that was turned back stays for good. It stops with an exception at
 * the first thing that it cannot account for, such as a change of the map by someone else. See decision 0050. Not thread-safe.
 */
@API(status = EXPERIMENTAL)
public final class AutoRebalance implements AutoCloseable {

    private static final Duration HOUR = Duration.ofHours(1);

    /** Carries out moves from beginning to end, such as {@code ParallelMoves::run}. */
    @FunctionalInterface
    public interface Carrier {
        void carryOut(List<MoveRequest> moves) throws InterruptedException;
    }

    private final ShardCatalog catalog;
    private final Function<Server, ServerUrl> urls;
    private final AutoSettings settings;
    private final Carrier carrier;
    private final Consumer<Decision> log;
    private final SafetyCheck surroundings;
    private final Set<Integer> turnedBack = new TreeSet<>();

    /** The plan of a round. */
    private record Intent(LoadSurvey survey, List<MoveRequest> moves) {}

    /**
     * @param urls the URL of a server of the shard map, including what is needed to log in
     * @param log hears each decision as it is made
     */
    public AutoRebalance(
            ServerUrl catalog,
            Function<Server, ServerUrl> urls,
            AutoSettings settings,
            Carrier carrier,
            Consumer<Decision> log) {
        this.catalog = ShardCatalog.at(catalog);
        this.urls = urls;
        this.settings = settings;
        this.carrier = carrier;
        this.log = log;
        this.surroundings = new SafetyCheck(catalog, urls);
    }

    /**
     * Runs rounds until it is interrupted or has to stop.
     *
     * @throws ShardflakeException for what it has to stop at
     */
    @SuppressWarnings("InfiniteLoopStatement")
    public void run() throws InterruptedException {
        while (true) {
            round();
        }
    }

    /**
     * Runs one round.
     *
     * @throws ShardflakeException for what it has to stop at
     */
    public void round() throws InterruptedException {
        explaining(() -> {
            Intent intent = decide();
            if (!intent.moves().isEmpty()) {
                carrier.carryOut(intent.moves());
                watch(intent);
            }
        });
    }

    /** Decides what a round would do, without changing anything. */
    public void rehearse() throws InterruptedException {
        explaining(this::decide);
    }

    @FunctionalInterface
    private interface Work {
        void run() throws InterruptedException;
    }

    private void explaining(Work work) throws InterruptedException {
        try {
            work.run();
        } catch (ShardflakeException e) {
            log.accept(new Decision(Choice.STOP, "", String.valueOf(e.getMessage())));
            throw e;
        }
    }

    private Intent decide() throws InterruptedException {
        ShardMap map = catalog.load();
        RebalancePlanner.requireKnown(map, settings.plan());
        SafetyCheck.requireOnly(List.of(), map, surroundings.require());
        LoadSurvey survey = LoadSurvey.take(map, urls, settings.plan().by(), settings.over());
        SafetyCheck.requireOnly(List.of(), map, surroundings.require());
        int left =
                settings.budget() - RecentMoves.within(HOUR, catalog).changes().size();
        RebalanceSettings allowed = allowed(Math.max(1, left));
        RebalancePlan plan = RebalancePlanner.plan(map, survey.loads(), allowed);
        List<RebalancePlan.Move> lasting = plan.moves().stream()
                .filter(move -> survey.isLasting(move, allowed))
                .toList();
        String saw = loads(plan);
        if (plan.moves().isEmpty()) {
            decided(Choice.STAY, saw, "no move is worth what it costs");
        } else if (lasting.isEmpty()) {
            decided(Choice.WAIT, saw, "that was not so in both halves of the time, so the load is changing");
        } else if (left <= 0) {
            decided(Choice.WAIT, saw, "the budget of %s shards an hour is used up".formatted(settings.budget()));
        } else {
            return new Intent(
                    survey, lasting.stream().map(move -> request(move, saw)).toList());
        }
        return new Intent(survey, List.of());
    }

    private RebalanceSettings allowed(int shards) {
        RebalanceSettings plan = settings.plan();
        Set<Integer> staying = new TreeSet<>(turnedBack);
        Stream.of(plan.pinned(), RecentMoves.within(settings.rest(), catalog).shards())
                .flatMapToInt(ShardSet::stream)
                .forEach(staying::add);
        return plan.pinning(ShardSet.of(staying)).moving(Math.min(plan.maxMoves(), shards));
    }

    private MoveRequest request(RebalancePlan.Move move, String saw) {
        MoveRequest request = new MoveRequest(move.from(), move.to(), move.shards());
        log.accept(new Decision(
                Choice.MOVE,
                request,
                saw,
                "then %s %s %%, %s %s %%"
                        .formatted(
                                move.from(),
                                move.fromLoad().after(),
                                move.to(),
                                move.toLoad().after())));
        return request;
    }

    private void decided(Choice choice, String saw, String why) {
        log.accept(new Decision(choice, saw, why));
    }

    private static String loads(RebalancePlan plan) {
        return plan.servers().stream()
                        .map(server -> "%s %s %%"
                                .formatted(server.name(), server.load().before()))
                        .collect(Collectors.joining(", "))
                + " of the mean";
    }

    /** Compares commit times with those before the moves. */
    private void watch(Intent intent) throws InterruptedException {
        ShardMap map = requireDone(intent.moves(), intent.survey().map());
        Map<String, CommitLatency> before = intent.survey().commits();
        Map<String, CommitLatency> after = CommitLatency.measure(map.servers(), urls, settings.watch());
        Set<String> slower = slower(before, after);
        Set<String> others = new HashSet<>(after.keySet());
        intent.moves().forEach(move -> others.remove(move.target()));
        // What receives no shard is not slower for a move.
        boolean isOfMoves = others.isEmpty() || !slower.containsAll(others);
        List<MoveRequest> home = intent.moves().stream()
                .filter(move -> isHarmful(move, slower, isOfMoves, saw(move.target(), before, after)))
                .map(MoveRequest::home)
                .toList();
        if (!home.isEmpty()) {
            turnBack(home, map, before);
        }
    }

    private Set<String> slower(Map<String, CommitLatency> before, Map<String, CommitLatency> after) {
        return after.keySet().stream()
                .filter(server -> at(after, server).isSlowerThan(at(before, server), settings.slower()))
                .collect(Collectors.toSet());
    }

    private void turnBack(List<MoveRequest> home, ShardMap map, Map<String, CommitLatency> before)
            throws InterruptedException {
        home.forEach(move -> move.shards().stream().forEach(turnedBack::add));
        carrier.carryOut(home);
        requireDone(home, map);
        Map<String, CommitLatency> after = CommitLatency.measure(map.servers(), urls, settings.watch());
        Set<String> slower = slower(before, after);
        for (MoveRequest move : home) {
            if (slower.contains(move.source())) {
                throw new RebalanceException(
                        Kind.FAILURE,
                        "%s, although %s left again: it was not %s"
                                .formatted(
                                        saw(move.source(), before, after),
                                        Plural.shards(move.shards(), "has", "have"),
                                        Plural.choose(move.shards(), "that one", "they")),
                        "find out what else %s has to do; then run the command again".formatted(move.source()));
            }
        }
    }

    private ShardMap requireDone(List<MoveRequest> moves, ShardMap before) throws InterruptedException {
        ShardMap now = surroundings.require();
        SafetyCheck.requireOnly(moves, before, now);
        return now;
    }

    private boolean isHarmful(MoveRequest move, Set<String> slower, boolean isOfMoves, String saw) {
        if (!slower.contains(move.target())) {
            log.accept(new Decision(Choice.KEEP, move, saw, "they are not %s %% slower".formatted(settings.slower())));
            return false;
        }
        if (!isOfMoves) {
            log.accept(new Decision(Choice.KEEP, move, saw, "they are slower on servers without a new shard, too"));
            return false;
        }
        log.accept(new Decision(
                Choice.TURN_BACK, move, saw, "they are more than %s %% slower there".formatted(settings.slower())));
        return true;
    }

    private static String saw(String server, Map<String, CommitLatency> before, Map<String, CommitLatency> after) {
        CommitLatency then = at(before, server);
        CommitLatency now = at(after, server);
        return "commits on %s took %s to %s ms, and %s to %s before"
                .formatted(server, millis(now.least()), millis(now.most()), millis(then.least()), millis(then.most()));
    }

    private static String millis(Duration time) {
        return String.format(Locale.ROOT, "%.1f", time.toNanos() / 1e6);
    }

    private static CommitLatency at(Map<String, CommitLatency> latencies, String server) {
        CommitLatency latency = latencies.get(server);
        if (latency == null) {
            throw new IllegalStateException("no server " + server);
        }
        return latency;
    }

    @Override
    public void close() {
        surroundings.close();
    }
}
