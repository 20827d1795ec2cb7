/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.doctor.Verdict.Behind;
import org.shardflake.doctor.Verdict.Doubtful;
import org.shardflake.doctor.Verdict.Fits;
import org.shardflake.doctor.Verdict.Missing;
import org.shardflake.doctor.Verdict.Unsettled;
import org.shardflake.move.Move;

/**
 * Decides for each shard whether the map fits the servers.
 *
 * <p>The epoch that a server remembers decides. It is written with the rows and reverts with them when the server is restored; the
 * catalog's reverts with the catalog. So a server that got a shard with a later epoch than the catalog has counted proves the catalog
 * older, and one with an earlier epoch is older itself. Where no epoch is remembered, because no move has brought the shard, it
 * concludes only what holds whichever is older.
 */
final class ShardVerdicts {

    private final ObservedState observed;
    private final ShardRows rows;
    private final Map<Integer, Verdict> verdicts = new TreeMap<>();

    private ShardVerdicts(ObservedState observed, ShardRows rows) {
        this.observed = observed;
        this.rows = rows;
    }

    static ShardVerdicts of(ObservedState observed, ShardRows rows) throws SQLException {
        ShardVerdicts verdicts = new ShardVerdicts(observed, rows);
        for (int shard = 0; shard < observed.map().sharding().shardCount(); shard++) {
            verdicts.verdicts.put(shard, verdicts.decide(shard));
        }
        return verdicts;
    }

    Verdict of(int shard) {
        return verdicts.getOrDefault(shard, new Unsettled());
    }

    /** Shards with a verdict of this kind, in ascending order. */
    <V extends Verdict> Map<Integer, V> all(Class<V> kind) {
        Map<Integer, V> found = new TreeMap<>();
        verdicts.forEach((shard, verdict) -> {
            if (kind.isInstance(verdict)) {
                found.put(shard, kind.cast(verdict));
            }
        });
        return found;
    }

    boolean fits(int shard) {
        return of(shard) instanceof Fits;
    }

    boolean isProven(int shard) {
        return of(shard) instanceof Fits fits && fits.isProven();
    }

    /** Whether the map may be wrong, so that nothing may be opened, closed or removed because of it. */
    boolean isMapInDoubt() {
        return verdicts.values().stream().anyMatch(Verdict::isInDoubt);
    }

    /** The server that has a shard, as far as it is known. */
    String server(int shard) {
        return of(shard) instanceof Behind behind ? behind.server() : observed.owner(shard);
    }

    /**
     * The map that fits the servers.
     *
     * @param left shards that stay where the map has them
     */
    ShardMap proposal(Set<Integer> left) {
        ShardMap map = observed.map();
        return ShardMap.of(
                map.version(),
                map.sharding(),
                map.layout(),
                map.servers(),
                shard -> !left.contains(shard) && of(shard) instanceof Behind behind
                        ? new ShardPlacement(shard, map.server(behind.server()), behind.epoch())
                        : map.placement(shard));
    }

    /** The reasons why the proposal differs from the map, by shard. */
    Map<Integer, String> reasons() {
        Map<Integer, String> reasons = new TreeMap<>();
        all(Behind.class).forEach((shard, behind) -> reasons.put(shard, behind.server() + " " + behind.why()));
        return reasons;
    }

    /** Whether a shard was deployed but no server has it. */
    boolean isAnyLost() {
        return all(Missing.class).values().stream()
                .anyMatch(missing -> !missing.wasDeployed().isEmpty());
    }

    /** The servers that remember one shard or have a copy of it. */
    private record Case(
            int shard,
            String owner,
            long epoch,
            Map<String, Placement> remembered,
            List<String> copies,
            String silent) {

        boolean isOn(String server) {
            return copies.contains(server);
        }

        List<String> others() {
            return copies.stream().filter(server -> !server.equals(owner)).toList();
        }

        @Nullable
        Placement of(String server) {
            return remembered.get(server);
        }

        /** The copies that were opened with the highest epoch. */
        List<String> newest() {
            long highest = copies.stream()
                    .mapToLong(server -> opened(of(server)))
                    .max()
                    .orElse(0);
            return highest == 0
                    ? List.of()
                    : copies.stream()
                            .filter(server -> opened(of(server)) == highest)
                            .toList();
        }

        long newestEpoch() {
            return newest().isEmpty() ? 0 : opened(of(newest().get(0)));
        }

        long lastRemembered() {
            return remembered.values().stream()
                    .mapToLong(Placement::epoch)
                    .max()
                    .orElse(0);
        }

        private static long opened(@Nullable Placement placement) {
            return placement != null && placement.here() ? placement.epoch() : 0;
        }
    }

    private Case look(int shard) {
        Map<String, Placement> remembered = new LinkedHashMap<>();
        List<String> copies = new ArrayList<>();
        observed.facts().forEach((server, facts) -> {
            Placement placement = facts.placements().get(shard);
            if (placement != null) {
                remembered.put(server, placement);
            }
            if (facts.shards().containsKey(shard)) {
                copies.add(server);
            }
        });
        return new Case(
                shard,
                observed.owner(shard),
                observed.map().placement(shard).epoch(),
                remembered,
                copies,
                observed.silent());
    }

    private Verdict decide(int shard) throws SQLException {
        Case it = look(shard);
        Optional<Verdict> givenUp = givenUpMeanwhile(it);
        if (givenUp.isPresent()) {
            return givenUp.get();
        }
        if (it.newestEpoch() > it.epoch()) {
            return newerThanTheCatalog(it);
        }
        if (!observed.isSettled(shard)) {
            return new Unsettled();
        }
        if (it.lastRemembered() > it.epoch()) {
            String who = it.remembered().entrySet().stream()
                    .filter(entry -> entry.getValue().epoch() == it.lastRemembered())
                    .map(Map.Entry::getKey)
                    .findFirst()
                    .orElseThrow();
            return new Doubtful(
                    "%s gave it up for epoch %s, the shard map counts %s, and no server that can be asked got it"
                            .formatted(who, it.lastRemembered(), it.epoch()));
        }
        return it.isOn(it.owner()) ? onItsServer(it) : elsewhere(it);
    }

    /**
     * The verdict for a shard in the middle of a cutover that the catalog does not know of. The server that gave it up has every row, since no
     * one has opened it elsewhere: the servers have all parts of the move, so none of them was restored.
     */
    private Optional<Verdict> givenUpMeanwhile(Case it) {
        long last = it.lastRemembered();
        Optional<Move> move = observed.moves().stream()
                .filter(its -> its.shardSet().contains(it.shard()))
                .findFirst();
        if (last <= it.epoch() || move.isEmpty() || !observed.isNewerOnServers(move.get(), it.shard())) {
            return Optional.empty();
        }
        List<Map.Entry<String, Placement>> who = it.remembered().entrySet().stream()
                .filter(entry -> entry.getValue().epoch() == last)
                .toList();
        if (who.size() != 1
                || who.get(0).getValue().here()
                || !it.isOn(who.get(0).getKey())) {
            return Optional.empty();
        }
        String server = who.get(0).getKey();
        String why = "gave it up for epoch %s, which no server received, and the shard map has %s"
                .formatted(last, it.epoch());
        return Optional.of(
                it.silent().isEmpty() && observed.isIntact(move.get())
                        ? new Behind(server, last + 1, why)
                        : new Doubtful("%s %s".formatted(server, why)));
    }

    private Verdict newerThanTheCatalog(Case it) {
        String server = it.newest().get(0);
        String why = "got it with epoch %s, and the shard map has %s".formatted(it.newestEpoch(), it.epoch());
        if (it.newest().size() > 1) {
            return new Doubtful("%s each %s".formatted(String.join(" and ", it.newest()), why));
        }
        if (!it.silent().isEmpty()) {
            return new Doubtful("%s %s; %s cannot be asked".formatted(server, why, it.silent()));
        }
        if (it.lastRemembered() > it.newestEpoch()) {
            return new Doubtful("%s %s; but it was given up for epoch %s since, and no server got it"
                    .formatted(server, why, it.lastRemembered()));
        }
        return new Behind(server, it.newestEpoch(), why);
    }

    private Verdict onItsServer(Case it) throws SQLException {
        Placement own = it.of(it.owner());
        boolean confirmed = own != null && own.here() && own.epoch() == it.epoch();
        if (own != null && !confirmed) {
            return new Doubtful(
                    own.epoch() == 0
                            ? "%s has a copy that was never open, and the shard map has epoch %s: it was restored to a time before the shard arrived"
                                    .formatted(it.owner(), it.epoch())
                            : "%s remembers epoch %s, when it %s the shard, and the shard map has %s: it is older than the catalog, or someone else placed the shard"
                                    .formatted(it.owner(), own.epoch(), own.here() ? "got" : "gave up", it.epoch()));
        }
        if (own == null && it.epoch() > 1 && it.lastRemembered() == it.epoch()) {
            return new Doubtful(
                    "another server gave it up for epoch %1$s, and %2$s has no record of receiving it: %2$s was restored to an earlier time; to keep the shard as it is there, SELECT shardflake.record_placement(%3$s, %1$s, true)"
                            .formatted(it.epoch(), it.owner(), it.shard()));
        }
        for (String other : it.others()) {
            Placement its = it.of(other);
            if (its != null && its.here() && its.epoch() == it.epoch()) {
                return new Doubtful("%s got it with epoch %s, too".formatted(other, its.epoch()));
            }
            // What is not remembered predates the first move, if the server would remember one.
            boolean isOlder = its != null || (confirmed && observed.remembers(other));
            if (!isOlder && rows.hasRows(other, it.shard())) {
                return rows.hasRows(it.owner(), it.shard())
                                || it.others().size() > 1
                                || !it.silent().isEmpty()
                        ? new Doubtful("no record tells whose rows are newer")
                        : rowsAreElsewhere(it, other);
            }
        }
        return new Fits(confirmed || (it.others().isEmpty() && it.silent().isEmpty()));
    }

    private Verdict rowsAreElsewhere(Case it, String other) {
        return observed.takesWrites(other, it.shard())
                ? new Behind(
                        other,
                        it.epoch(),
                        "has its rows and takes writes, and that of %s is empty".formatted(it.owner()))
                : new Doubtful("only %s has rows of it, and takes no writes".formatted(other));
    }

    private Verdict elsewhere(Case it) {
        if (it.copies().isEmpty()) {
            return new Missing(it.silent(), wasDeployed(it));
        }
        String only = it.copies().get(0);
        boolean isFirst = it.epoch() == 1 && it.remembered().isEmpty();
        if (it.copies().size() == 1 && isFirst && it.silent().isEmpty() && observed.takesWrites(only, it.shard())) {
            return new Behind(
                    only, it.epoch(), "has it and takes writes, and %s does not have it".formatted(it.owner()));
        }
        return new Doubtful("%s does not have it, and what %s is older or cannot be told from an older one"
                .formatted(
                        it.owner(),
                        it.copies().size() == 1 ? only + " has" : String.join(" and ", it.copies()) + " have"));
    }

    /** The evidence that the shard once existed there, if any. */
    private String wasDeployed(Case it) {
        if (observed.historyOfGone(it.owner()).contains(it.shard())) {
            return "%s has its history".formatted(it.owner());
        }
        if (!it.remembered().isEmpty()) {
            return "%s remembers it"
                    .formatted(it.remembered().keySet().iterator().next());
        }
        return "";
    }
}
