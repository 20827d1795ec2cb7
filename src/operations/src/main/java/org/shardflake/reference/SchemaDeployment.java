/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.deploy.ReferenceChangelog;
import org.shardflake.jdbc.Sql;

/**
 * Changes reference tables on all servers in one moment.
 *
 * <p>Writers wait, and all servers have got everything written before. Then the changelog runs everywhere, rows included, in a
 * transaction on each server, and what it writes is not replicated. All servers must have the same rows in the end. The copies
 * commit first: one that has the home's version has the rows of the changelog, and cutovers trust that. If a server fails in between,
 * the home has nothing yet, and the same command does the rest.
 */
final class SchemaDeployment {

    private final ReferenceSession session;
    private final Home home;
    private final ReferenceServer from;
    private final List<ReferenceStream> streams;

    SchemaDeployment(ReferenceSession session, Home home) {
        this.session = session;
        this.home = home;
        this.from = session.server(home.server());
        this.streams = session.streams(home.server(), home.tag());
    }

    /** Repairs servers that lack changes that others have, or whose stream is broken. */
    void catchUp() throws SQLException {
        for (ReferenceStream stream : streams) {
            if (!stream.isWhole()
                    || !stream.isEnabled()
                    || ReferenceChangelog.lacks(from.control(), stream.copy().control())) {
                session.bring(home, stream.copy());
            }
        }
        openNewTables();
    }

    void run(ReferenceChangelog changelog) throws SQLException {
        List<String> tables = from.tables();
        List<ReferenceServer> uncommitted = new ArrayList<>();
        try {
            long version = ReferenceSession.hold(from, tables);
            for (ReferenceStream stream : streams) {
                ReferenceSession.awaitVersion(stream, version);
            }
            for (ReferenceStream stream : streams) {
                ReferenceServer copy = stream.copy();
                ReferenceSession.join(copy, tables);
                run(changelog, copy, tables);
                copy.guard(ReferenceServer.tables(copy.work()), "copy", from.name());
                uncommitted.add(copy);
            }
            runOnHome(changelog, tables);
            for (ReferenceServer copy : uncommitted) {
                compare(copy);
                Sql.execute(copy.work(), "SET CONSTRAINTS ALL IMMEDIATE");
            }
            Sql.execute(from.work(), "SET CONSTRAINTS ALL IMMEDIATE");
            // The home last: a copy that has its version has the rows of the changelog, and cutovers trust that.
            commit(uncommitted);
            from.commit();
        } catch (SQLException e) {
            if (Sql.isInTheWay(e)) {
                throw new ShardflakeException(
                        Kind.FAILURE,
                        "other transactions hold locks on the tables: %s. Nothing was changed"
                                .formatted(Sql.message(e)),
                        Advice.of(
                                "run the same command again; to wait longer for locks: %s",
                                CliCommand.REFERENCE_DEPLOY_PATIENT),
                        e);
            }
            throw e;
        } finally {
            session.rollback();
        }
        openNewTables();
    }

    private static void run(ReferenceChangelog changelog, ReferenceServer server, List<String> tables)
            throws SQLException {
        ReferredRows referred = ReferredRows.read(server.work());
        server.unguard(tables);
        changelog.run(server.work(), server.name());
        referred.requireStillThere(server.name());
    }

    private void runOnHome(ReferenceChangelog changelog, List<String> before) throws SQLException {
        Set<Long> known = new HashSet<>();
        for (String table : before) {
            known.add(oid(table));
        }
        ReferenceStream.publish(from.work(), home.tag(), List.of());
        run(changelog, from, before);
        List<String> after = ReferenceServer.tables(from.work());
        List<String> kept = new ArrayList<>();
        List<String> added = new ArrayList<>();
        for (String table : after) {
            // One that was dropped and made again is another table under the same name, also to subscriptions.
            (known.contains(oid(table)) ? kept : added).add(table);
        }
        from.guard(kept, "home", from.name());
        // What is written to them before all servers know that they are published would be left out.
        from.guard(added, "closed", from.name());
        ReferenceStream.publish(from.work(), home.tag(), after);
        Sql.call(from.work(), "SELECT shardflake.next_reference_version()");
    }

    private long oid(String table) throws SQLException {
        return Sql.number(from.work(), "SELECT ?::regclass::oid", table);
    }

    private void compare(ReferenceServer copy) throws SQLException {
        List<String> tables = ReferenceServer.tables(from.work());
        if (!tables.equals(ReferenceServer.tables(copy.work()))) {
            throw new ShardflakeException(
                    Kind.VERIFICATION,
                    "%s and %s would have different reference tables; nothing was changed"
                            .formatted(from.name(), copy.name()),
                    Advice.of("%s says how they differ", CliCommand.DOCTOR),
                    null);
        }
        new RowCopy(from.work(), copy.work()).difference(tables).ifPresent(table -> {
            throw new ShardflakeException(
                    Kind.VERIFICATION,
                    "the rows of %s would differ on %s and %s; nothing was changed"
                            .formatted(table, from.name(), copy.name()),
                    Advice.of(
                            "write the rows as they are into the changelog: now(), random() and the like differ on each server. If it writes none, %s makes the rows equal first",
                            CliCommand.REFERENCE_REPAIR),
                    null);
        });
    }

    /** Commits on the copies; if a server fails here, the next run completes the deployment. */
    private void commit(List<ReferenceServer> copies) {
        List<String> failed = new ArrayList<>();
        for (ReferenceServer copy : copies) {
            try {
                copy.commit();
            } catch (SQLException e) {
                failed.add("%s (%s)".formatted(copy.name(), Sql.message(e)));
            }
        }
        if (!failed.isEmpty()) {
            throw new ShardflakeException(
                    Kind.PARTLY_DONE,
                    "deployed, but not on %s nor on the home, %s".formatted(String.join(", ", failed), from.name()),
                    "run the same command again",
                    null);
        }
    }

    /** Opens the home's tables, which were closed until all servers knew them. An interrupted run may have left both to do. */
    private void openNewTables() throws SQLException {
        for (ReferenceStream stream : streams) {
            stream.refresh();
        }
        List<String> closed = Sql.list(
                from.control(),
                "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'reference' AND t.tgname = 'shardflake_reference' AND split_part(encode(t.tgargs, 'escape'), '\\000', 1) = 'closed' ORDER BY c.relname COLLATE \"C\"",
                row -> row.getString(1));
        if (closed.isEmpty()) {
            return;
        }
        try {
            ReferenceSession.join(from, closed);
            from.guard(closed, "home", from.name());
            from.commit();
        } finally {
            from.rollback();
        }
    }
}
