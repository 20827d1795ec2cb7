/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.sql.SQLException;
import java.util.List;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Sql;

/**
 * Moves the home of reference tables to another server.
 *
 * <p>The streams of the new home are made while the old one takes writes. The pause is: close the old home, wait until all servers have
 * everything, skip in the new streams what all servers have, change the catalog, open the new home. The catalog says how far this is,
 * so each step can be repeated: the same command goes on.
 */
final class HomeMove {

    private final ReferenceSession session;

    HomeMove(ReferenceSession session) {
        this.session = session;
    }

    void run(String to) throws SQLException {
        Home home = session.home();
        session.server(to);
        if (home.next() != null && !home.next().equals(to)) {
            if (!to.equals(home.server())) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "the home is being changed to %s".formatted(home.next()),
                        Advice.of(
                                "%s finishes that, %s cancels it",
                                CliCommand.REFERENCE_MOVE.with(home.next()),
                                CliCommand.REFERENCE_MOVE.with(home.server())),
                        null);
            }
            cancel(home);
            return;
        }
        if (home.old() != null) {
            finish(home);
            home = session.home();
        }
        if (home.server().equals(to)) {
            return;
        }
        requireWhole(home);
        if (home.next() == null) {
            refuseUnfinishedDeletes();
            session.catalog().beginMove(home, to);
            home = session.home();
        }
        prepare(home);
        switchHome(home);
        finish(session.home());
    }

    private void refuseUnfinishedDeletes() throws SQLException {
        List<List<String>> deletes =
                ReferenceCatalog.unfinishedDeletes(session.catalog().connection());
        if (!deletes.isEmpty()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "the deletion of %s was interrupted".formatted(String.join(" ", deletes.get(0))),
                    Advice.of(
                            "%s finishes it",
                            CliCommand.REFERENCE_DELETE.with(deletes.get(0).toArray())),
                    null);
        }
    }

    /** Requires that no change of the home is unfinished, as a repair needs. */
    private void requireWhole(Home home) throws SQLException {
        for (ReferenceStream stream : session.streams(home.server(), home.tag())) {
            if (!stream.isWhole()) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "%s does not follow the home: %s"
                                .formatted(
                                        stream.copy().name(),
                                        stream.trouble().orElse("its stream was broken by a failover")),
                        home.next() == null
                                ? Advice.of("%s repairs it", CliCommand.REFERENCE_REPAIR)
                                : Advice.of(
                                        "%s gives up the change; then %s repairs it",
                                        CliCommand.REFERENCE_MOVE.with(home.server()), CliCommand.REFERENCE_REPAIR),
                        null);
            }
        }
    }

    /** Creates everything that can be created while the old home accepts writes. */
    private void prepare(Home home) throws SQLException {
        ReferenceServer next = session.server(String.valueOf(home.next()));
        requireSequences(session.server(home.server()), "USAGE");
        requireSequences(next, "UPDATE");
        String tag = String.valueOf(home.nextTag());
        ReferenceStream.publish(next.control(), tag, next.tables());
        for (ReferenceStream stream : session.streams(next.name(), tag)) {
            stream.createSlot();
            stream.createSubscription();
        }
    }

    private void switchHome(Home home) throws SQLException {
        ReferenceServer old = session.server(home.server());
        ReferenceServer next = session.server(String.valueOf(home.next()));
        List<String> tables = old.tables();
        try {
            long version = ReferenceSession.hold(old, tables);
            old.guard(tables, "closed", home.server());
            old.record("closed", home.server());
            old.commit();
            for (ReferenceStream stream : session.streams(home.server(), home.tag())) {
                ReferenceSession.awaitVersion(stream, version);
                // What is applied is not on the disk yet, and the new stream will not bring it again after a crash.
                Sql.awaitDisk(stream.copy().control());
            }
            for (ReferenceStream stream : session.streams(next.name(), String.valueOf(home.nextTag()))) {
                stream.skipToNow();
            }
        } catch (SQLException | RuntimeException e) {
            session.rollback();
            reopen(old, home, e);
            throw e;
        }
        session.rollback();
        session.catalog().switchHome(home);
    }

    private static void reopen(ReferenceServer old, Home home, Exception failure) {
        try {
            ReferenceSession.guard(old, "home", home.server());
        } catch (SQLException | RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    /** Cancels a change that has not taken effect. */
    private void cancel(Home home) throws SQLException {
        ReferenceSession.guard(session.server(home.server()), "home", home.server());
        dropStreams(String.valueOf(home.next()), String.valueOf(home.nextTag()));
        session.catalog().endMove();
    }

    /** Opens the new home, and removes the remains of the old one's streams. */
    private void finish(Home home) throws SQLException {
        ReferenceServer old = session.server(String.valueOf(home.old()));
        ReferenceServer now = session.server(home.server());
        carrySequences(old, now);
        ReferenceSession.guard(now, "home", home.server());
        // First: what the old home gets from the new one must not go to the others a second time.
        dropStreams(old.name(), String.valueOf(home.oldTag()));
        for (ReferenceStream stream : session.streams(home.server(), home.tag())) {
            ReferenceSession.guard(stream.copy(), "copy", home.server());
            stream.enable();
        }
        session.catalog().endMove();
    }

    /**
     * Copies the positions of sequences, which are not replicated. They only go forward, since this may be repeated when the new home has drawn
     * from them.
     */
    static void carrySequences(ReferenceServer old, ReferenceServer now) throws SQLException {
        requireSequences(old, "USAGE");
        record Position(String sequence, long value) {}
        List<Position> positions = Sql.list(
                old.control(),
                "SELECT format('%I.%I', schemaname, sequencename), last_value FROM pg_sequences WHERE schemaname = 'reference' AND last_value IS NOT NULL",
                row -> new Position(row.getString(1), row.getLong(2)));
        for (Position position : positions) {
            Sql.call(
                    now.control(),
                    "SELECT setval(s::regclass, v) FROM (VALUES (?, ?::bigint)) p (s, v), pg_sequence q WHERE q.seqrelid = s::regclass AND CASE WHEN q.seqincrement > 0 THEN v > COALESCE(pg_sequence_last_value(s::regclass), q.seqmin - 1) ELSE v < COALESCE(pg_sequence_last_value(s::regclass), q.seqmax + 1) END",
                    position.sequence(),
                    position.value());
        }
    }

    /** Requires the right to read sequence positions, without which PostgreSQL shows a sequence as unused. */
    private static void requireSequences(ReferenceServer server, String right) throws SQLException {
        List<String> hidden = Sql.list(
                server.control(),
                "SELECT oid::regclass::text FROM pg_class WHERE relnamespace = to_regnamespace('reference') AND CASE WHEN relkind = 'S' THEN NOT has_sequence_privilege(oid, ?) END ORDER BY 1",
                row -> row.getString(1),
                right);
        if (!hidden.isEmpty()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "%s lacks the right %s on %s of %s, so its position cannot be carried to another server"
                            .formatted(
                                    Sql.text(server.control(), "SELECT current_user"),
                                    right,
                                    String.join(", ", hidden),
                                    server.name()),
                    "GRANT %s ON SEQUENCE %s TO %s on %s, and run the same command again"
                            .formatted(
                                    right,
                                    String.join(", ", hidden),
                                    Sql.text(server.control(), "SELECT quote_ident(current_user)"),
                                    server.name()),
                    null);
        }
    }

    private void dropStreams(String home, String tag) throws SQLException {
        List<ReferenceStream> streams = session.streams(home, tag);
        for (ReferenceStream stream : streams) {
            stream.dropSlot();
        }
        ReferenceStream.unpublish(session.server(home).control(), tag);
        for (ReferenceStream stream : streams) {
            stream.dropSubscription();
        }
    }
}
