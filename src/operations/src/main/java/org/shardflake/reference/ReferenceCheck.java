/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/** Finds problems with reference tables while they are in use; writes nothing. */
public final class ReferenceCheck {

    /**
     * A problem with its remedy.
     *
     * @param server a server of the shard map, or "catalog"
     * @param name what was checked, such as reference-stream
     */
    public record Problem(String server, String name, String found, Advice remedy) {}

    private static final Advice REPAIR = Advice.of("repair it with %s", CliCommand.REFERENCE_REPAIR);

    /** Finds tables without a guard, by the argument of the trigger: see reference_write. */
    private static final String UNGUARDED = """
            SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = 'reference' AND c.relkind IN ('r', 'p')
               AND NOT EXISTS (SELECT FROM pg_trigger t
                                WHERE t.tgrelid = c.oid AND t.tgname = 'shardflake_reference' AND t.tgenabled = 'O'
                                  AND split_part(encode(t.tgargs, 'escape'), '\\000', 1) = ?)
             ORDER BY 1
            """;

    private static final String SECONDS_UNTIL_A_WORKER_IS_TRIED_AGAIN =
            "SELECT pg_sleep(1 + extract(epoch FROM current_setting('wal_retrieve_retry_interval')::interval))";

    private static final Poll SAME_VERSION = Poll.everyMillis(100, Duration.ofSeconds(5));

    private final Home home;
    private final Connection from;
    private final List<Problem> problems = new ArrayList<>();

    private ReferenceCheck(Home home, Connection from) {
        this.home = home;
        this.from = from;
    }

    /**
     * Runs all checks.
     *
     * @param urls the URLs of the shard map's servers, by name; those that cannot be reached are left out
     */
    public static List<Problem> run(ServerUrl catalog, Map<String, ServerUrl> urls) {
        return Sql.translating(() -> Sql.with(catalog.connect("shardflake doctor"), connection -> {
            Optional<Home> home = ReferenceCatalog.home(connection);
            if (home.isEmpty()) {
                return List.of();
            }
            List<Problem> problems = new ArrayList<>(interrupted(connection, home.get()));
            problems.addAll(ofServers(home.get(), new LinkedHashMap<>(urls)));
            List<Problem> stale = staleSlots(home.get(), urls);
            if (ReferenceCatalog.home(connection).equals(home)) { // Or the slots may be those of another home by now.
                problems.addAll(stale);
            }
            return problems;
        }));
    }

    private static List<Problem> interrupted(Connection catalog, Home home) throws SQLException {
        List<Problem> problems = new ArrayList<>();
        if (home.isChanging()) {
            problems.add(new Problem(
                    "catalog",
                    "reference-interrupted",
                    "the home of reference tables is being changed",
                    Advice.of(
                            "if no command does that now: %s",
                            CliCommand.REFERENCE_MOVE.with(home.next() == null ? home.server() : home.next()))));
        }
        for (List<String> row : ReferenceCatalog.unfinishedDeletes(catalog)) {
            problems.add(new Problem(
                    "catalog",
                    "reference-interrupted",
                    "row %s of a reference table is being deleted, which blocks cutovers"
                            .formatted(String.join(" ", row)),
                    Advice.of("if no command does that now: %s", CliCommand.REFERENCE_DELETE.with(row.toArray()))));
        }
        return problems;
    }

    private static List<Problem> staleSlots(Home home, Map<String, ServerUrl> urls) {
        List<Problem> problems = new ArrayList<>();
        urls.forEach((server, url) -> {
            try (Connection connection = url.connect("shardflake doctor")) {
                ReferenceStream.staleSlots(connection, home.slotsOn(server, urls.keySet()))
                        .forEach(slot -> problems.add(new Problem(
                                server,
                                "reference-slot",
                                "keeps write-ahead log for slot %s, which no server of the shard map uses"
                                        .formatted(slot),
                                Advice.of("drop it with %s", CliCommand.REFERENCE_REPAIR))));
            } catch (SQLException e) {
                // The doctor says so elsewhere.
            }
        });
        return problems;
    }

    private static List<Problem> ofServers(Home home, Map<String, ServerUrl> urls) throws SQLException {
        ServerUrl url = urls.remove(home.server());
        if (url == null) {
            return List.of();
        }
        Connection from;
        try {
            from = url.connect("shardflake doctor");
        } catch (SQLException e) {
            return List.of(); // The doctor says so elsewhere.
        }
        try (from) {
            ReferenceCheck check = new ReferenceCheck(home, from);
            if (!home.isChanging()) {
                check.attempt(home.server(), () -> check.guards(home.server(), from, "home"));
            }
            for (Map.Entry<String, ServerUrl> server : urls.entrySet()) {
                check.attempt(server.getKey(), () -> check.copy(server.getKey(), server.getValue()));
            }
            return check.problems;
        }
    }

    private interface Examination {
        void run() throws SQLException;
    }

    /** Examines one server; a failure does not hide problems of the others. */
    private void attempt(String server, Examination examination) {
        try {
            examination.run();
        } catch (SQLException e) {
            problems.add(new Problem(
                    server,
                    "reference-check",
                    "its reference tables cannot be examined: " + Sql.message(e),
                    Advice.of("run %s again when that is fixed", CliCommand.DOCTOR)));
        }
    }

    private void copy(String server, ServerUrl url) throws SQLException {
        Connection to;
        try {
            to = url.connect("shardflake doctor");
        } catch (SQLException e) {
            return; // The doctor says so elsewhere.
        }
        try (to) {
            if (!ReferenceServer.tables(to).containsAll(ReferenceServer.tables(from))) {
                problems.add(
                        new Problem(server, "reference-tables", "lacks reference tables that the home has", REPAIR));
                return;
            }
            guards(server, to, "copy");
            Optional<String> trouble = trouble(server, to);
            if (trouble.isPresent()) {
                problems.add(new Problem(server, "reference-stream", "does not follow: " + trouble.get(), REPAIR));
            } else {
                compare(server, to);
            }
        }
    }

    private void guards(String server, Connection connection, String mode) throws SQLException {
        List<String> open = Sql.list(connection, UNGUARDED, row -> row.getString(1), mode);
        if (!open.isEmpty()) {
            problems.add(new Problem(
                    server,
                    "reference-guard",
                    "%s let through what it must refuse: triggers of %s are missing, disabled or for another home"
                            .formatted(
                                    open.size() == 1 ? "a reference table may" : "reference tables may",
                                    String.join(", ", open)),
                    REPAIR));
        }
    }

    /** Finds a problem that shows in two readings, since a worker that has ended is started again after a while. */
    private Optional<String> trouble(String server, Connection to) throws SQLException {
        String name = ReferenceStream.name(home.tag(), server);
        if (ReferenceStream.trouble(home.server(), from, server, to, name).isEmpty()) {
            return Optional.empty();
        }
        Sql.call(to, SECONDS_UNTIL_A_WORKER_IS_TRIED_AGAIN);
        return ReferenceStream.trouble(home.server(), from, server, to, name);
    }

    /** Compares rows once both servers have the same version, which is replicated with the rows. */
    private void compare(String server, Connection to) throws SQLException {
        List<String> tables = ReferenceServer.tables(from);
        boolean same = SAME_VERSION.until(() -> inSnapshots(to, () -> {
            String version = "SELECT version FROM shardflake.reference_version";
            if (Sql.number(from, version) != Sql.number(to, version)) {
                return false;
            }
            new RowCopy(from, to)
                    .difference(tables)
                    .ifPresent(table -> problems.add(new Problem(
                            server,
                            "reference-rows",
                            "has other rows in %s than %s, its home".formatted(table, home.server()),
                            REPAIR)));
            return true;
        }));
        if (!same) {
            problems.add(new Problem(
                    server,
                    "reference-stream",
                    "is behind the home, or there is too much written to compare them",
                    Advice.of("look at %s", CliCommand.REFERENCE_STATUS)));
        }
    }

    private boolean inSnapshots(Connection to, Sql.Work<Boolean> work) throws SQLException {
        for (Connection connection : List.of(from, to)) {
            Sql.execute(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        }
        try (Sql.Ending first = () -> Sql.execute(from, "ROLLBACK");
                Sql.Ending second = () -> Sql.execute(to, "ROLLBACK")) {
            return work.run();
        }
    }
}
