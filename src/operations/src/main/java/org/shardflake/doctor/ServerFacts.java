/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;
import org.shardflake.load.MachineMemory;
import org.shardflake.load.SessionMemory;
import org.shardflake.preflight.PreflightCheck;
import org.shardflake.preflight.PreflightCheck.Outcome;
import org.shardflake.preflight.ServerChecks;
import org.shardflake.sql.FunctionLibrary;
import org.shardflake.sql.InstallationIdentity;

/**
 * A server's facts about itself, read in one query.
 *
 * @param version its major version
 * @param identity distinguishes databases, whatever their URL; the same for a copy
 * @param installation the installation to which it belongs, as far as it remembers
 * @param started when the server was started, which tells a copy from its original, as after the split of a server by its standby
 * @param clockMillis its clock minus ours, in milliseconds
 * @param clockDoubtMillis the possible error of that: the time the query took
 * @param epochMillis the epoch of its ids; negative without the function library
 * @param libraryVersion the version of the function library; 0 without one
 * @param remembers whether it records where shards were
 * @param placements its records of that, by shard
 * @param claims what it obeys of moves, by tag
 * @param historyOfGone shards with a deployment history but no schema
 * @param historyDoubled shards whose history has the same deployment twice
 * @param sessions what they may come to keep in memory
 * @param memory of its machine
 */
record ServerFacts(
        int version,
        String identity,
        Optional<InstallationIdentity> installation,
        String started,
        long clockMillis,
        long clockDoubtMillis,
        long epochMillis,
        boolean libraryIsCurrent,
        int libraryVersion,
        Map<Integer, ShardState> shards,
        boolean remembers,
        Map<Integer, Placement> placements,
        Map<String, Long> claims,
        ShardSet historyOfGone,
        ShardSet historyDoubled,
        List<IdSequence> sequences,
        List<Remnant> remnants,
        List<StreamTrouble> streamTroubles,
        List<PreflightCheck> limits,
        SessionMemory sessions,
        MachineMemory memory) {

    /**
     * A sequence of ids.
     *
     * @param isWrong whether it was altered, so that ids may repeat
     * @param isStopped whether a fence has stopped it
     * @param aheadMillis how far its last id is ahead of the clock; 0 without the function library, or without an id
     */
    record IdSequence(long oid, String name, int shard, boolean isWrong, boolean isStopped, long aheadMillis) {}

    /** An object on a server that belongs to a move. */
    record Remnant(Kind kind, String name, String tag) {
        enum Kind {
            SUBSCRIPTION("subscription"),
            SLOT("replication slot"),
            PUBLICATION("publication"),
            CLAIM("row of shardflake.move_claim"),
            MARKER("row of shardflake.move_marker");

            private final String text;

            Kind(String text) {
                this.text = text;
            }

            @Override
            public String toString() {
                return text;
            }
        }
    }

    /** A problem of a move's slot or subscription. */
    record StreamTrouble(String tag, String stream, String found) {}

    /** Finds objects of moves: a stream is named {@code shardflake_TAG_DIRECTION}, and a move's tag is {@code mNUMBER_RANDOM}. */
    private static final String REMNANTS = """
            WITH own AS (
                SELECT 'SUBSCRIPTION' AS kind, subname::text AS name FROM pg_subscription
                 WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                UNION ALL
                SELECT 'SLOT', slot_name FROM pg_replication_slots WHERE database = current_database()
                UNION ALL
                SELECT 'PUBLICATION', pubname FROM pg_publication)
            SELECT kind, name, substring(name FROM '^shardflake_(m[0-9]+_[0-9a-f]+)_') FROM own
             WHERE name ~ '^shardflake_m[0-9]+_[0-9a-f]+_(forward|reverse)(_all)?$'
            """;

    private static final String ROWS_OF_MOVES = """
            SELECT 'CLAIM', move, move FROM shardflake.move_claim
            UNION ALL
            SELECT 'MARKER', stream, substring(stream FROM '^(m[0-9]+_[0-9a-f]+)_') FROM shardflake.move_marker
            """;

    private static final String STREAM_TROUBLES = """
            SELECT substring(slot_name FROM '^shardflake_(m[0-9]+_[0-9a-f]+)_'), slot_name::text,
                   format('slot %s is %s and keeps %s of write-ahead log', slot_name, COALESCE(wal_status, 'lost'),
                          pg_size_pretty(COALESCE(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)))
              FROM pg_replication_slots
             WHERE slot_name ~ '^shardflake_m[0-9]+_[0-9a-f]+_(forward|reverse)$' AND database = current_database()
               AND (COALESCE(wal_status, 'lost') IN ('unreserved', 'lost') OR pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) > 10737418240)
            UNION ALL
            SELECT substring(s.subname FROM '^shardflake_(m[0-9]+_[0-9a-f]+)_'), s.subname,
                   format('subscription %s is enabled and has no worker; the server''s log says why', s.subname)
              FROM pg_subscription s
              LEFT JOIN pg_stat_subscription w ON w.subid = s.oid AND w.relid IS NULL
             WHERE s.subname ~ '^shardflake_m[0-9]+_[0-9a-f]+_(forward|reverse)$' AND s.subenabled AND w.pid IS NULL
               AND s.subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
            """;

    /**
     * Reads id sequences, recognized by their bounds; they count in ticks of 1024 per millisecond, and a fence subtracts 2^50. Reading a sequence
     * locks it until the end of the transaction, so only a limited number is read at once: there are tens of thousands.
     */
    private static final String SEQUENCES = """
            WITH batch AS MATERIALIZED (
                SELECT c.oid, format('%%I.%%I', n.nspname, c.relname) AS name, substring(n.nspname FROM 7)::integer AS shard,
                       s.seqincrement <> 1 OR s.seqcache <> 1 OR s.seqcycle AS wrong
                  FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE s.seqmin = -1125899906842624 AND n.nspname ~ '^shard_[0-9]{4}$' AND c.oid::bigint > ?
                 ORDER BY c.oid LIMIT 500),
                 read AS MATERIALIZED (SELECT *, pg_sequence_last_value(oid) AS tick FROM batch)
            SELECT oid::bigint, name, shard, wrong, tick < 0,
                   (tick + CASE WHEN tick < 0 THEN 1125899906842624 ELSE 0 END - %s) / 1024 FROM read ORDER BY oid
            """;

    private static final String HISTORY_OF_GONE = """
            SELECT DISTINCT substr(filename, 7, 4)::integer FROM shardflake_deploy.databasechangelog
             WHERE filename ~ '^shard_[0-9]{4}/' AND to_regnamespace(left(filename, 10)) IS NULL
            """;

    private static final String HISTORY_DOUBLED = """
            SELECT DISTINCT substr(filename, 7, 4)::integer FROM shardflake_deploy.databasechangelog
             WHERE filename ~ '^shard_[0-9]{4}/' GROUP BY filename, id, author HAVING count(*) > 1
            """;

    static ServerFacts read(Connection connection) throws SQLException {
        long before = System.currentTimeMillis();
        long clock = Sql.number(connection, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint");
        long after = System.currentTimeMillis();
        boolean library = Sql.isTrue(connection, "SELECT to_regclass('shardflake.layout') IS NOT NULL");
        boolean remembers = Sql.isTrue(connection, "SELECT to_regclass('shardflake.placement') IS NOT NULL");
        boolean history =
                Sql.isTrue(connection, "SELECT to_regclass('shardflake_deploy.databasechangelog') IS NOT NULL");
        boolean moves = Sql.isTrue(connection, "SELECT to_regclass('shardflake.move_claim') IS NOT NULL");
        return new ServerFacts(
                (int) Sql.number(connection, "SELECT current_setting('server_version_num')::integer / 10000"),
                identity(connection),
                InstallationIdentity.ofServer(connection),
                started(connection),
                clock - (before + after) / 2,
                after - before,
                library ? Sql.number(connection, "SELECT epoch_ms FROM shardflake.layout") : -1,
                library && FunctionLibrary.isCurrent(connection),
                FunctionLibrary.version(connection),
                shards(connection),
                remembers,
                remembers ? placements(connection) : Map.of(),
                moves ? claims(connection) : Map.of(),
                history ? ShardSet.of(Sql.list(connection, HISTORY_OF_GONE, row -> row.getInt(1))) : ShardSet.of(),
                history ? ShardSet.of(Sql.list(connection, HISTORY_DOUBLED, row -> row.getInt(1))) : ShardSet.of(),
                sequences(connection, library),
                remnants(connection, moves ? REMNANTS + "UNION ALL " + ROWS_OF_MOVES : REMNANTS),
                streamTroubles(connection),
                ServerChecks.run(connection).stream()
                        .filter(check -> check.outcome() != Outcome.OK)
                        .filter(check -> !check.name().equals("privileges")) // whose moves are made by another role
                        .toList(),
                SessionMemory.read(connection),
                MachineMemory.read(connection));
    }

    /** The identity of a database; unique in each call if the role may not read it. */
    static String identity(Connection connection) throws SQLException {
        String server = Sql.systemIdentifier(connection)
                .orElseGet(() -> UUID.randomUUID().toString());
        return server + "/"
                + Sql.text(connection, "SELECT oid::text FROM pg_database WHERE datname = current_database()");
    }

    /** The start time in microseconds since 1970, which does not depend on a role's time zone. */
    static String started(Connection connection) throws SQLException {
        return Sql.text(connection, "SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text");
    }

    private static Map<Integer, ShardState> shards(Connection connection) throws SQLException {
        Map<Integer, ShardState> shards = new TreeMap<>();
        Sql.list(connection, ShardState.QUERY, ShardState::read).forEach(state -> shards.put(state.shard(), state));
        return shards;
    }

    private static List<IdSequence> sequences(Connection connection, boolean library) throws SQLException {
        String sql = SEQUENCES.formatted(library ? "shardflake.now_ticks()" : "NULL");
        List<IdSequence> all = new ArrayList<>();
        List<IdSequence> batch;
        do {
            long after = all.isEmpty() ? 0 : all.get(all.size() - 1).oid();
            batch = Sql.list(
                    connection,
                    sql,
                    row -> new IdSequence(
                            row.getLong(1),
                            row.getString(2),
                            row.getInt(3),
                            row.getBoolean(4),
                            row.getBoolean(5),
                            row.getLong(6)),
                    after);
            all.addAll(batch);
        } while (!batch.isEmpty());
        return all;
    }

    private static Map<Integer, Placement> placements(Connection connection) throws SQLException {
        Map<Integer, Placement> placements = new TreeMap<>();
        Sql.list(
                connection,
                "SELECT shard, epoch, here FROM shardflake.placement",
                row -> placements.put(row.getInt(1), new Placement(row.getLong(2), row.getBoolean(3))));
        return placements;
    }

    private static Map<String, Long> claims(Connection connection) throws SQLException {
        Map<String, Long> claims = new HashMap<>();
        Sql.list(
                connection,
                "SELECT move, claim FROM shardflake.move_claim",
                row -> claims.put(row.getString(1), row.getLong(2)));
        return claims;
    }

    /**
     * Finds streams that have problems in two readings, since PostgreSQL starts a subscription's worker at most every
     * wal_retrieve_retry_interval, 5 s by default.
     */
    private static List<StreamTrouble> streamTroubles(Connection connection) throws SQLException {
        List<StreamTrouble> first = readStreamTroubles(connection);
        if (first.isEmpty()) {
            return first;
        }
        Sql.call(
                connection,
                "SELECT pg_sleep(1 + extract(epoch FROM current_setting('wal_retrieve_retry_interval')::interval))");
        List<StreamTrouble> again = new ArrayList<>(readStreamTroubles(connection));
        again.removeIf(
                trouble -> first.stream().noneMatch(before -> before.stream().equals(trouble.stream())));
        return again;
    }

    private static List<StreamTrouble> readStreamTroubles(Connection connection) throws SQLException {
        return Sql.list(
                connection,
                STREAM_TROUBLES,
                row -> new StreamTrouble(row.getString(1), row.getString(2), row.getString(3)));
    }

    private static List<Remnant> remnants(Connection connection, String sql) throws SQLException {
        return Sql.list(
                connection,
                sql,
                row -> new Remnant(Remnant.Kind.valueOf(row.getString(1)), row.getString(2), row.getString(3)));
    }
}
