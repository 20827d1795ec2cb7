/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
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

    /** The losses of a following move's streams, as far as their publishers answer. */
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

    /** The bytes of the source's tables that are on the target; a partly copied shard counts by its rows. */
    public long copiedBytes() {
        return move.shards().stream().mapToLong(this::copiedBytes).sum();
    }

    private long copiedBytes(MoveShard shard) {
        long size = bytes.getOrDefault(shard.shard(), 0L);
        return shard.phase() == ShardPhase.WAITING ? Math.min(shard.bytes(), size) : size;
    }

    /**
     * The remaining copy time at the pace of the running command; empty if none is running. Not before a shard is through, or a fifth of a few
     * large ones: PostgreSQL takes 1,000 rows and then writes them, so the copy of wide rows goes by jerks. Between two of them it is taken to
     * go on, by a tenth of all at most. What an earlier command copied says nothing about the pace.
     */
    public Optional<Duration> timeLeft(Instant now) {
        if (move.phase() != MovePhase.COPYING || move.workedOnSince().isEmpty()) {
            return Optional.empty();
        }
        Instant start = latest(move.phaseSince(), move.workedOnSince().get());
        double total = totalBytes();
        double before = 0;
        boolean isShardThrough = false;
        Instant counted = start;
        for (MoveShard shard : move.shards()) {
            Instant at = shard.bytesAt().orElse(now);
            if (at.isBefore(start)) {
                before += copiedBytes(shard);
            } else {
                isShardThrough |= shard.phase() != ShardPhase.WAITING;
                counted = latest(counted, shard.bytesAt().orElse(start));
            }
        }
        double copied = copiedBytes() - before;
        double toCopy = total - before;
        if (copied <= 0 || (!isShardThrough && copied < toCopy / 5)) {
            return Optional.empty();
        }
        double millis = millisSince(start, now);
        double until = counted.equals(start) ? millis : millisSince(start, counted);
        double since = until > 0 ? copied * Math.max(0, millis - until) / until : 0;
        double done = Math.min(toCopy, copied + Math.min(since, toCopy / 10));
        return Optional.of(Duration.ofMillis(Math.round(millis * (toCopy - done) / done)));
    }

    private static Instant latest(Instant one, Instant other) {
        return one.isAfter(other) ? one : other;
    }

    private static double millisSince(Instant start, Instant end) {
        return Duration.between(start, end).toMillis();
    }
}
