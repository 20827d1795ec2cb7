/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.PROBLEM;
import static org.shardflake.doctor.Severity.WARNING;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.function.Predicate;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;

/** Whether servers have the shards that the map gives them, take their writes, and take none of others. */
final class ShardFindings {

    private static final String CATALOG_MAY_BE_OLD =
            "servers have parts of moves that the catalog does not know, so it may be older than they are, as after a restore: see which server has the newer rows before you close or open anything";

    private final Knowledge knowledge;
    private final Access access;
    private final List<Finding> findings = new ArrayList<>();

    private ShardFindings(Knowledge knowledge, Access access) {
        this.knowledge = knowledge;
        this.access = access;
    }

    static List<Finding> of(Knowledge knowledge, Access access) {
        ShardFindings shards = new ShardFindings(knowledge, access);
        knowledge.facts().forEach((server, facts) -> {
            shards.examine(server, facts.shards());
            shards.stopped(
                    server,
                    select(
                            facts.shards().values(),
                            state -> facts.idsStopped().contains(state.shard())
                                    && shards.isOwn(server, state)
                                    && !state.refusesWrites()));
        });
        return shards.findings;
    }

    private void examine(String server, Map<Integer, ShardState> states) {
        Collection<ShardState> its = states.values();
        open(server, select(its, state -> isOthers(server, state) && state.takesWrites()));
        missing(server, states);
        closed(server, select(its, state -> isOwn(server, state) && state.refusesWrites()));
        unguarded(server, select(its, state -> isOwn(server, state) && state.unguarded() > 0));
        copies(server, select(its, state -> isOthers(server, state) && !state.takesWrites()));
        unknown(
                server,
                select(its, state -> state.shard() >= knowledge.map().sharding().shardCount()));
    }

    private static ShardSet select(Collection<ShardState> states, Predicate<ShardState> which) {
        return ShardSet.of(states.stream().filter(which).map(ShardState::shard).toList());
    }

    private boolean isOwn(String server, ShardState state) {
        return knowledge.isSettled(state.shard())
                && knowledge.owner(state.shard()).equals(server);
    }

    private boolean isOthers(String server, ShardState state) {
        return knowledge.isSettled(state.shard())
                && !knowledge.owner(state.shard()).equals(server);
    }

    /** To close them is safe if the owner has them; where it has not, this may be the only server with the rows. */
    private void open(String server, ShardSet shards) {
        ShardSet covered = filter(shards, shard -> knowledge.isOn(knowledge.owner(shard), shard));
        ShardSet sole = filter(shards, shard -> !covered.contains(shard));
        if (!covered.isEmpty() && knowledge.hasUnknownMoves()) {
            findings.add(Finding.of(
                    PROBLEM,
                    server,
                    "shard-open-elsewhere",
                    "takes writes to shards %s, which the shard map gives to others".formatted(covered),
                    CATALOG_MAY_BE_OLD));
        } else if (!covered.isEmpty()) {
            findings.add(Finding.of(
                            PROBLEM,
                            server,
                            "shard-open-elsewhere",
                            "takes writes to shards %s, which the shard map gives to others".formatted(covered),
                            "close them with --fix (SELECT shardflake.fence_shard(%d)), then look whether it has rows that their servers lack"
                                    .formatted(first(covered)))
                    .with(() -> access.whilePlaced(server, false, covered, connection -> {
                        for (int shard : covered.stream().toArray()) {
                            Sql.call(connection, "SELECT shardflake.fence_shard(?)", shard);
                        }
                    })));
        }
        if (!sole.isEmpty()) {
            findings.add(
                    Finding.of(
                            PROBLEM,
                            server,
                            "shard-misplaced",
                            "has shards %s and takes their writes, but the shard map gives them to servers that do not have them"
                                    .formatted(sole),
                            "the catalog is older than the servers, as after a restore: place them where they are with shardflake map import"));
        }
    }

    private void missing(String server, Map<Integer, ShardState> states) {
        ShardSet missing =
                filter(knowledge.shardsOf(server), shard -> knowledge.isSettled(shard) && !states.containsKey(shard));
        if (!missing.isEmpty()) {
            findings.add(Finding.of(
                    PROBLEM,
                    server,
                    "shard-missing",
                    "lacks shards %s, which the shard map gives it".formatted(missing),
                    "create them with shardflake schema deploy; if they had rows, restore the server first"));
        }
    }

    /** To open them is safe if nobody else can have newer rows. */
    private void closed(String server, ShardSet shards) {
        ShardSet sole = knowledge.hasUnknownMoves()
                ? ShardSet.of()
                : filter(shards, shard -> knowledge.isOnlyOn(server, shard));
        ShardSet doubtful = filter(shards, shard -> !sole.contains(shard));
        if (!sole.isEmpty()) {
            findings.add(closed(server, sole, "open them with --fix (SELECT shardflake.unfence_shard(%d))")
                    .with(() -> access.whilePlaced(server, true, sole, connection -> unfence(connection, sole))));
        }
        if (!doubtful.isEmpty()) {
            findings.add(
                    closed(
                            server,
                            doubtful,
                            knowledge.hasUnknownMoves()
                                    ? CATALOG_MAY_BE_OLD
                                    : "another server may have them too, so see which has the newer rows before SELECT shardflake.unfence_shard(%d)"));
        }
    }

    private static Finding closed(String server, ShardSet shards, String remedy) {
        return Finding.of(
                PROBLEM,
                server,
                "shard-closed",
                "refuses writes to shards %s, which the shard map gives it, and no move has them".formatted(shards),
                remedy.formatted(first(shards)));
    }

    /** A fence that was taken back leaves the ids stopped, if nobody lets them go on. */
    private void stopped(String server, ShardSet shards) {
        if (!shards.isEmpty()) {
            findings.add(Finding.of(
                            PROBLEM,
                            server,
                            "ids-stopped",
                            "takes writes to shards %s and gives no ids for them".formatted(shards),
                            "let them go on with --fix (SELECT shardflake.unfence_shard(%d))".formatted(first(shards)))
                    .with(() -> access.whilePlaced(server, true, shards, connection -> unfence(connection, shards))));
        }
    }

    private static void unfence(Connection connection, ShardSet shards) throws SQLException {
        for (int shard : shards.stream().toArray()) {
            Sql.call(connection, "SELECT shardflake.unfence_shard(?)", shard);
        }
    }

    private void unguarded(String server, ShardSet shards) {
        if (!shards.isEmpty()) {
            findings.add(Finding.of(
                            WARNING,
                            server,
                            "fence-missing",
                            "has tables without a fence in shards %s, which therefore cannot be moved"
                                    .formatted(shards),
                            "add them with --fix (SELECT shardflake.complete_tables(%d))".formatted(first(shards)))
                    .with(() -> access.onServer(server, connection -> {
                        for (int shard : shards.stream().toArray()) {
                            Sql.call(connection, "SELECT shardflake.complete_tables(?)", shard);
                        }
                    })));
        }
    }

    private void copies(String server, ShardSet shards) {
        if (!shards.isEmpty()) {
            findings.add(Finding.of(
                    WARNING,
                    server,
                    "shard-copy",
                    "keeps copies of shards %s, which the shard map gives to others; they take no writes"
                            .formatted(shards),
                    "when nothing in them is needed any more: SELECT shardflake.drop_shard(%d, force => true)"
                            .formatted(first(shards))));
        }
    }

    private void unknown(String server, ShardSet shards) {
        if (!shards.isEmpty()) {
            findings.add(Finding.of(
                    WARNING,
                    server,
                    "shard-unknown",
                    "has shards %s, and the shard map goes to %d"
                            .formatted(shards, knowledge.map().sharding().shardCount() - 1),
                    "see whose they are; two installations do not belong into one database"));
        }
    }

    private static ShardSet filter(ShardSet shards, IntPredicate which) {
        return ShardSet.of(shards.stream().filter(which).toArray());
    }

    private static int first(ShardSet shards) {
        return shards.stream().findFirst().orElseThrow();
    }
}
