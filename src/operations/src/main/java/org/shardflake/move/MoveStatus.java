/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.internal.session.Seal;
import org.shardflake.move.server.MoveServer;

/**
 * A move and the state of its replication.
 *
 * @param bytes size of its shards' tables on the source, by shard, without indexes; empty if it does not answer
 * @param forward from source to target
 * @param reverse from target to source
 */
public record MoveStatus(Move move, Map<Integer, Long> bytes, StreamStatus forward, StreamStatus reverse) {

    private static final String BYTES = """
            SELECT right(n.nspname, 4)::integer, COALESCE(sum(pg_table_size(c.oid)), 0)::bigint
              FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r'
             WHERE n.nspname = ANY (?) GROUP BY 1
            """;

    static MoveStatus read(Move move, Function<String, MoveServer> servers, String application) throws SQLException {
        MoveServer source = servers.apply(move.source());
        MoveServer target = servers.apply(move.target());
        String name = "shardflake_" + move.tag();
        Map<Integer, Long> bytes = new HashMap<>();
        boolean sealed = false;
        try {
            sealed = Sql.with(source.connect(application), connection -> {
                Sql.list(connection, BYTES, row -> bytes.put(row.getInt(1), row.getLong(2)), move.shardSet());
                return !Seal.sealed(connection, move.shardSet()).isEmpty();
            });
        } catch (SQLException e) {
            if (!Sql.isOutage(e)) {
                throw e;
            } // The streams tell of it.
        }
        boolean following = move.phase() == MovePhase.FOLLOWING;
        return new MoveStatus(
                move,
                bytes,
                StreamStatus.read(
                        name + "_forward",
                        source,
                        target,
                        following || move.phase() == MovePhase.CATCHING_UP,
                        move.wayOut(),
                        application),
                StreamStatus.read(name + "_reverse", target, source, following && !sealed, move.wayOut(), application));
    }

    /** The losses of the streams of a following move, as far as their publishers answer. */
    static List<String> losses(Move move, Function<String, MoveServer> servers) throws SQLException {
        if (move.phase() != MovePhase.FOLLOWING) {
            return List.of();
        }
        List<String> losses = new ArrayList<>();
        for (String publisher : List.of(move.source(), move.target())) {
            String stream =
                    "shardflake_%s_%s".formatted(move.tag(), publisher.equals(move.source()) ? "forward" : "reverse");
            StreamStatus.loss(stream, servers.apply(publisher))
                    .ifPresent(loss -> losses.add(StreamStatus.told(loss, move.wayOut())));
        }
        return losses;
    }

    public long totalBytes() {
        return bytes.values().stream().mapToLong(Long::longValue).sum();
    }

    /** The amount of the source's tables that is on the target; a partly copied shard counts by its rows. */
    public long copiedBytes() {
        return move.shards().stream()
                .mapToLong(shard -> {
                    long size = bytes.getOrDefault(shard.shard(), 0L);
                    return shard.phase() == ShardPhase.WAITING ? Math.min(shard.bytes(), size) : size;
                })
                .sum();
    }

    /**
     * The remaining copy time at the pace so far. Not before a shard is through, or a fifth of a few large ones: PostgreSQL takes 1,000 rows
     * and then writes them, so the copy of wide rows goes by jerks. Between two of them it is taken to go on, by a tenth of all at most.
     */
    public Optional<Duration> timeLeft(Instant now) {
        double copied = copiedBytes();
        double total = totalBytes();
        boolean isShardThrough = move.shards().stream().anyMatch(shard -> shard.phase() != ShardPhase.WAITING);
        if (move.phase() != MovePhase.COPYING || copied == 0 || (!isShardThrough && copied < total / 5)) {
            return Optional.empty();
        }
        double millis = millisSince(move.phaseSince(), now);
        double counted = move.shards().stream()
                .flatMap(shard -> shard.bytesAt().stream())
                .max(Comparator.naturalOrder())
                .map(at -> millisSince(move.phaseSince(), at))
                .orElse(millis);
        double since = counted > 0 ? copied * Math.max(0, millis - counted) / counted : 0;
        double done = Math.min(total, copied + Math.min(since, total / 10));
        return Optional.of(Duration.ofMillis(Math.round(millis * (total - done) / done)));
    }

    private static double millisSince(Instant start, Instant end) {
        return Duration.between(start, end).toMillis();
    }
}
