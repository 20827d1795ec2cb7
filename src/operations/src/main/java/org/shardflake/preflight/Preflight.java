/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.preflight;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.changes.ServerStream;
import org.shardflake.compare.LargeObjects;
import org.shardflake.deploy.EmptySearchPath;
import org.shardflake.deploy.ShardSchemaCopy;
import org.shardflake.grants.Grants;
import org.shardflake.grants.RowSecurity;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.internal.session.SameLibrary;
import org.shardflake.move.server.MoveServer;
import org.shardflake.preflight.PreflightCheck.Outcome;
import org.shardflake.replication.ChangeStreams;
import org.shardflake.replication.InboundSubscriptions;
import org.shardflake.replication.Replication;
import org.shardflake.replication.ReplicationLogin;
import org.shardflake.replication.WorkerSettings;
import org.shardflake.server.SessionFailedException;
import org.shardflake.sql.FunctionLibrary;
import org.shardflake.sql.InstallationIdentity;

/** Checks whether shards can be moved, before anything is changed. */
public final class Preflight {

    public static final String APPLICATION = "shardflake move, checking";
    private static final long CLOCK_TOLERANCE_MILLIS = 1000;

    /** Finds publications of checks whose process has ended, or had our process's number. */
    private static final String LEFT_BY_KILLED_CHECKS = """
            SELECT pubname FROM pg_publication
             WHERE pubname ~ '^shardflake_preflight_[0-9]+$' AND pg_has_role(pubowner, 'USAGE')
               AND substring(pubname FROM '[0-9]+$') NOT IN (SELECT pid::text FROM pg_stat_activity WHERE pid <> pg_backend_pid())
            """;

    /** The checks without which a rehearsal is impossible or would only fail in the same way. */
    private static final Set<String> REHEARSAL_NEEDS = Set.of(
            "server-version",
            "shards-present",
            "target-free",
            "function-library",
            "reference-tables",
            "extensions",
            "encoding",
            "roles",
            "uncarried-objects");

    /** The option appended to URLs that accepts any host; the last such option counts. */
    private static final String ANY = " target_session_attrs=any";

    /** The SQLSTATE for a subscription of a role that isn't a superuser, without a password or on a server that does not ask for one. */
    private static final String PROHIBITED = "2F003";

    /** Tables of the shards, with what the checks need; $1 is the list of schemas. */
    private static final String TABLES = """
            WITH t AS (
                SELECT c.oid, n.nspname, format('%I.%I', n.nspname, c.relname) AS name, c.relkind, c.relpersistence, c.relreplident, c.relforcerowsecurity, c.reltuples
                  FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid WHERE n.nspname = ANY (?))
            """;

    private final MoveServer source;
    private final MoveServer target;
    private final ShardSet shards;
    private final Connection from;
    private final Connection to;
    private final Grants.Owners owners;
    private final List<PreflightCheck> checks = new ArrayList<>();

    private Preflight(MoveServer source, MoveServer target, ShardSet shards, Connection from, Connection to)
            throws SQLException {
        this.source = source;
        this.target = target;
        this.shards = shards;
        this.from = from;
        this.to = to;
        this.owners = Grants.Owners.of(from);
    }

    /** Runs all possible checks. */
    public static PreflightReport run(MoveServer source, MoveServer target, ShardSet shards) {
        return Sql.translating(() -> run(source, target, shards, APPLICATION, () -> {}));
    }

    /**
     * Runs all possible checks, with callbacks for progress.
     *
     * @param application what its sessions are called, so that another can watch them
     * @param answered runs when both servers have answered
     */
    public static PreflightReport run(
            MoveServer source, MoveServer target, ShardSet shards, String application, Runnable answered)
            throws SQLException {
        return Sql.with(
                source.connect(application),
                from -> Sql.with(target.connect(application), to -> {
                    answered.run();
                    return new Preflight(source, target, shards, from, to).run();
                }));
    }

    /** The checks that also apply to shards that a standby takes over in a split. */
    public static List<PreflightCheck> ofSplit(
            MoveServer source, MoveServer target, ShardSet shards, Connection from, Connection standby)
            throws SQLException {
        Preflight checks = new Preflight(source, target, shards, from, standby);
        checks.checkServer(from, source.name());
        checks.checkServer(standby, target.name());
        checks.checkReachable();
        checks.checkPresent();
        checks.checkTables();
        checks.checkDependencies();
        checks.checkSessions();
        checks.checkClocks();
        return checks.checks;
    }

    private void checkWorkers() throws SQLException {
        List<WorkerSettings.Problem> problems = WorkerSettings.problems(List.of(
                WorkerSettings.read(source.name(), source.url(), from, shards),
                WorkerSettings.read(target.name(), target.url(), to, shards)));
        add(
                "worker-settings",
                problems.isEmpty() ? Outcome.OK : Outcome.FAILED,
                problems.isEmpty()
                        ? "replication reads values as they are"
                        : problems.stream().map(Object::toString).collect(Collectors.joining("; ")),
                problems.isEmpty() ? "" : WorkerSettings.REMEDY);
    }

    /** Checks connections while the target is a standby, where nothing can be created. */
    private void checkReachable() throws SQLException {
        if (lacksLogin("source-reaches-target", target) || lacksLogin("target-reaches-source", source)) {
            return;
        }
        if (Replication.silencesTheLog(from)) {
            checkReachable("source-reaches-target", from, "shardflake_preflight", target, source, ANY);
        } else {
            add(
                    "source-reaches-target",
                    Outcome.WARNING,
                    "not tried, since %s would log the password".formatted(source.name()),
                    "make sure that %s can connect to %s by %s"
                            .formatted(
                                    source.name(), target.name(), target.url().hosts()));
        }
        add(
                "target-reaches-source",
                Outcome.WARNING,
                "cannot be tried from a standby",
                "make sure that %s can connect to %s by %s, as in the shard map"
                        .formatted(target.name(), source.name(), source.url().hosts()));
    }

    private PreflightReport run() throws SQLException {
        checkVersions();
        checkServer(from, source.name());
        checkServer(to, target.name());
        checkReachable("target-reaches-source", to, from, source, target);
        checkReachable("source-reaches-target", from, to, target, source);
        if (checks.stream()
                .anyMatch(check -> check.name().startsWith("privileges-") && check.outcome() == Outcome.FAILED)) {
            // Without them, the others could not even be asked.
            return new PreflightReport(source.name(), target.name(), shards, 0, 0, 0, List.copyOf(checks));
        }
        checkPlace();
        checkWorkers();
        checkTables();
        checkDependencies();
        checkChangeStreams(target.name(), to, "get each row of these shards as an insert when it is copied");
        checkSchema();
        checkTexts();
        checkSessions();
        checkClocks();
        List<Long> size = Sql.list(
                        from,
                        TABLES
                                + "SELECT count(*), COALESCE(sum(pg_table_size(oid)), 0), COALESCE(sum(GREATEST(reltuples, 0)), 0)::bigint FROM t WHERE relkind = 'r'",
                        row -> List.of(row.getLong(1), row.getLong(2), row.getLong(3)),
                        shards)
                .get(0);
        add(
                "disk-space",
                Outcome.WARNING,
                "PostgreSQL cannot say how much is free on %s; the copy takes about %s MiB with its indexes, and as much again in write-ahead log"
                        .formatted(
                                target.name(),
                                Sql.text(
                                        from,
                                        TABLES
                                                + "SELECT ceil(COALESCE(sum(pg_total_relation_size(oid)), 0) / 1048576.0) FROM t WHERE relkind = 'r'",
                                        shards)),
                "");
        return new PreflightReport(
                source.name(),
                target.name(),
                shards,
                size.get(0).intValue(),
                size.get(1),
                size.get(2),
                List.copyOf(checks));
    }

    private void add(String name, Outcome outcome, String found, CharSequence remedy) {
        checks.add(new PreflightCheck(name, outcome, found, remedy));
    }

    /** Adds a failed check, or a warning, if a query finds something; the query returns names to show. */
    private void none(
            String name,
            Outcome outcome,
            Connection connection,
            String sql,
            String whenFound,
            CharSequence remedy,
            @Nullable Object... parameters)
            throws SQLException {
        List<String> found = List.copyOf(new TreeSet<>(Sql.list(connection, sql, row -> row.getString(1), parameters)));
        if (found.isEmpty()) {
            add(name, Outcome.OK, "none", "");
        } else {
            add(name, outcome, "%s: %s".formatted(whenFound, shown(found)), remedy);
        }
    }

    private void checkVersions() throws SQLException {
        long sourceVersion = Sql.number(from, "SELECT current_setting('server_version_num')::integer / 10000");
        long targetVersion = Sql.number(to, "SELECT current_setting('server_version_num')::integer / 10000");
        boolean supported = sourceVersion >= 15 && targetVersion >= 15 && Math.abs(sourceVersion - targetVersion) <= 1;
        add(
                "server-version",
                supported ? Outcome.OK : Outcome.FAILED,
                "%s has PostgreSQL %s, %s has %s".formatted(source.name(), sourceVersion, target.name(), targetVersion),
                supported ? "" : "use 15 or later on both, at most one major version apart");
    }

    private void checkServer(Connection connection, String name) throws SQLException {
        for (PreflightCheck check : ServerChecks.run(connection, owners)) {
            add(check.name() + "-" + name, check.outcome(), check.found(), check.remedy());
        }
    }

    private void checkPresent() throws SQLException {
        long present = Sql.number(from, "SELECT count(*) FROM pg_namespace WHERE nspname = ANY (?)", shards);
        boolean all = present == shards.size();
        add(
                "shards-present",
                all ? Outcome.OK : Outcome.FAILED,
                "%s of %s shards have their schema on %s".formatted(present, shards.size(), source.name()),
                all ? "" : Advice.of("deploy them with %s", CliCommand.SCHEMA_DEPLOY));
    }

    /** Checks that both servers belong to one installation; otherwise advice could lead to removing another one's objects. */
    private boolean isOfOneInstallation() throws SQLException {
        Optional<InstallationIdentity> own = InstallationIdentity.ofServer(from);
        Optional<InstallationIdentity> its = InstallationIdentity.ofServer(to);
        boolean isOne = own.isEmpty() || its.isEmpty() || own.equals(its);
        if (!isOne) {
            add(
                    "installation",
                    Outcome.FAILED,
                    "%s belongs to another installation, %s; %s belongs to %s"
                            .formatted(target.name(), its.get(), source.name(), own.get()),
                    Advice.of("see %s", CliCommand.DOCTOR));
        }
        return isOne;
    }

    private void checkPlace() throws SQLException {
        checkPresent();
        if (!isOfOneInstallation()) {
            return;
        }
        ShardSet there = ShardSet.of(Sql.list(
                to,
                "SELECT right(nspname, 4)::integer FROM pg_namespace WHERE nspname = ANY (?)",
                row -> row.getInt(1),
                shards));
        none(
                "target-free",
                Outcome.FAILED,
                to,
                "SELECT nspname FROM pg_namespace WHERE nspname = ANY (?)",
                "%s has these schemas already".formatted(target.name()),
                Advice.of(
                        "%s explains them: those of an open split are removed by running %s again; drop what is left of a move, on %s, with SELECT shardflake.drop_shard(shard, force => true) FROM unnest('{%s}'::integer[]) shard",
                        CliCommand.DOCTOR,
                        CliCommand.SERVER_SPLIT,
                        target.name(),
                        there.stream().boxed().map(String::valueOf).collect(Collectors.joining(","))),
                shards);
        int newest = Math.max(FunctionLibrary.version(from), FunctionLibrary.version(to));
        if (newest > FunctionLibrary.version()) {
            add(
                    "function-library",
                    Outcome.FAILED,
                    "a function library is of version %s, and this command knows version %s"
                            .formatted(newest, FunctionLibrary.version()),
                    "use the newer shardflake that deployed it");
            return;
        }
        boolean library = hasLibrary();
        checkLibraryOwner();
        checkTrusted(from, source);
        checkTrusted(to, target);
        add(
                "function-library",
                library ? Outcome.OK : Outcome.FAILED,
                library
                        ? "%s has the functions that a move needs".formatted(source.name())
                        : "the function library of %s is older than moves".formatted(source.name()),
                library ? "" : Advice.of("bring it up to date with %s", CliCommand.UPGRADE));
    }

    /** Checks that the library's owner, as whom ids are drawn, may use the sequences of the shards. */
    private void checkLibraryOwner() throws SQLException {
        none(
                "library-owner",
                Outcome.FAILED,
                to,
                """
                SELECT format('%s, which is not %s', pg_get_userbyid(l.nspowner), o.rolname)
                  FROM pg_namespace l JOIN pg_roles o ON o.rolname = ANY (?) AND NOT pg_has_role(l.nspowner, o.oid, 'USAGE')
                 WHERE l.nspname = 'shardflake' AND pg_get_userbyid(l.nspowner) IS DISTINCT FROM ?
                """,
                "the function library of %s, which makes ids as its owner, is of a role that may not use the sequences of the shards' owner"
                        .formatted(target.name()),
                "on the target, GRANT the shards' owner to the library's; or have the same owner as on the source",
                to.createArrayOf("text", owners.shards().toArray()),
                owners.library().orElse(null));
    }

    /** Checks who could change code that a move runs with its own rights: the library's functions, and changesets that it repeats. */
    private void checkTrusted(Connection connection, MoveServer server) throws SQLException {
        none(
                "library-rights-" + server.name(),
                Outcome.WARNING,
                connection,
                """
                SELECT format('%s of %I', n.nspname, pg_get_userbyid(n.nspowner)) FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner, pg_roles m
                 WHERE n.nspname IN ('shardflake', 'shardflake_deploy') AND NOT o.rolsuper AND m.rolname = current_user AND m.rolsuper
                """,
                "this superuser runs code in schemas of other roles",
                Advice.of(
                        "have a role make the move that has what %s prints, unless you trust them",
                        CliCommand.GRANTS_MOVES));
    }

    /** Whether the source has the library, including the newest function that is called before anything is changed. */
    private boolean hasLibrary() throws SQLException {
        return Sql.isTrue(
                from,
                "SELECT to_regproc('shardflake.fence_tables') IS NOT NULL AND to_regproc('shardflake.record_placement') IS NOT NULL AND to_regproc('shardflake.sequence_room') IS NOT NULL");
    }

    private void checkLargeObjects() throws SQLException {
        String tables =
                "SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (?)";
        List<String> columns = LargeObjects.referred(from, tables, shards).stream()
                .map(LargeObjects.Reference::toString)
                .toList();
        add(
                "large-objects",
                columns.isEmpty() ? Outcome.OK : Outcome.FAILED,
                columns.isEmpty()
                        ? "none"
                        : "large objects are not replicated, and these columns may refer to some: " + shown(columns),
                columns.isEmpty() ? "" : LargeObjects.REMEDY);
    }

    private void checkTables() throws SQLException {
        if (hasLibrary()) {
            checkRelativesAndSequences();
        }
        none(
                "replica-identity",
                Outcome.FAILED,
                from,
                TABLES + """
                SELECT name FROM t WHERE relkind = 'r' AND NOT (
                    EXISTS (SELECT FROM pg_index i WHERE i.indrelid = t.oid AND i.indimmediate AND i.indisvalid AND i.indisready
                               AND CASE relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident END))
                """,
                "tables whose rows cannot be told apart",
                "give them a primary key that is NOT DEFERRABLE, and ALTER TABLE ... REPLICA IDENTITY DEFAULT",
                shards);
        none(
                "unlogged-tables",
                Outcome.FAILED,
                from,
                TABLES + "SELECT name FROM t WHERE relkind = 'r' AND relpersistence = 'u'",
                "not replicated",
                "ALTER TABLE ... SET LOGGED",
                shards);
        none(
                "fences",
                Outcome.FAILED,
                from,
                TABLES
                        + "SELECT name FROM t WHERE relkind IN ('r', 'p') AND NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = t.oid AND g.tgfoid = to_regproc('shardflake.fence_write'))",
                "tables without a fence",
                Advice.of("SELECT shardflake.complete_tables(7) for each shard, or %s", CliCommand.SCHEMA_DEPLOY),
                shards);
        checkLargeObjects();
        none(
                "foreign-tables",
                Outcome.FAILED,
                from,
                TABLES + "SELECT name FROM t WHERE relkind = 'f'",
                "not replicated",
                "drop them, or move their data into tables",
                shards);
        none(
                "materialized-views",
                Outcome.WARNING,
                from,
                TABLES + "SELECT name FROM t WHERE relkind = 'm'",
                "refreshed on the target before the cutover, so their rows are of that time",
                "REFRESH MATERIALIZED VIEW after the cutover, if the rows are too old",
                shards);
        none(
                "always-triggers",
                Outcome.FAILED,
                from,
                TABLES
                        + "SELECT t.name || '.' || g.tgname FROM t JOIN pg_trigger g ON g.tgrelid = t.oid WHERE g.tgenabled IN ('A', 'R')",
                "fire for replicated rows too, so a second time",
                "ALTER TABLE ... ENABLE TRIGGER, without ALWAYS or REPLICA",
                shards);
        checkRowSecurity();
    }

    /** Checks every session that will read and write rows, since a row-level policy could hide some from it. */
    private void checkRowSecurity() throws SQLException {
        RowSecurity.Carried carried = RowSecurity.carried(from, shards);
        List<String> found = new ArrayList<>();
        Set<String> remedies = new TreeSet<>();
        hides(found, remedies, RowSecurity.hidden(from, shards), from, source);
        hides(found, remedies, carried.hidden(to), to, target);
        if (appliesAsOwner()) {
            for (MoveServer server : List.of(source, target)) {
                List<String> forced = carried.hiddenFromOwner(server.equals(source) ? from : to);
                if (!forced.isEmpty()) {
                    found.add("forced on the owner, as whom PostgreSQL 16 and later replicate, on %s: %s"
                            .formatted(server.name(), shown(forced)));
                    remedies.add("ALTER ROLE ... BYPASSRLS for the owner");
                }
            }
        }
        add(
                "row-level-security",
                found.isEmpty() ? Outcome.OK : Outcome.FAILED,
                found.isEmpty() ? "hides no row" : String.join("; ", found),
                found.isEmpty()
                        ? ""
                        : String.join("; ", remedies)
                                + "; or ALTER TABLE ... NO FORCE ROW LEVEL SECURITY for the time of the move");
    }

    private void hides(
            List<String> found, Set<String> remedies, List<String> tables, Connection session, MoveServer server)
            throws SQLException {
        if (!tables.isEmpty()) {
            String role = Sql.text(session, "SELECT quote_ident(current_user)");
            found.add("hides rows from %s on %s: %s".formatted(role, server.name(), shown(tables)));
            remedies.add("ALTER ROLE %s BYPASSRLS on %s".formatted(role, server.name()));
        }
    }

    private boolean appliesAsOwner() throws SQLException {
        return from.getMetaData().getDatabaseMajorVersion() >= 16
                || to.getMetaData().getDatabaseMajorVersion() >= 16;
    }

    /** Names the readers of changes before the first row is copied, since what they received cannot be taken back. */
    private void checkChangeStreams(String server, Connection connection, String consequence) throws SQLException {
        List<String> found = ChangeStreams.find(connection, shards);
        add(
                "change-streams-" + server,
                found.isEmpty() ? Outcome.OK : Outcome.WARNING,
                found.isEmpty() ? "none" : "readers of %s %s".formatted(String.join(", ", found), consequence),
                found.isEmpty()
                        ? ""
                        : Advice.of(
                                "have the readers finish with what %s sends until the cutover before they apply what %s sends, by each row's key; then compare what they have. %s"
                                        .formatted(source.name(), target.name(), ChangeStreams.REMEDY),
                                CliCommand.CDC_CREATE));
    }

    private void checkChangeStream() throws SQLException {
        ServerStream left = new ServerStream(source.name(), from);
        Optional<ServerStream.Obstacle> obstacle = left.obstacle(new ServerStream(target.name(), to));
        // Readers create their slots on a standby after its promotion, and each cutover checks that.
        boolean isLater =
                obstacle.isPresent() && obstacle.get().isSlot() && Sql.isTrue(to, "SELECT pg_is_in_recovery()");
        add(
                "change-stream",
                obstacle.isEmpty() ? Outcome.OK : isLater ? Outcome.WARNING : Outcome.FAILED,
                obstacle.map(ServerStream.Obstacle::what).orElse(left.isThere() ? "follows" : "none"),
                isLater
                        ? Advice.of(
                                "when %s is promoted, start the reader, which creates the slot there, or create it; no shard is cut over before, and if the split stops for it, run the same command again",
                                target.name())
                        : obstacle.map(ServerStream.Obstacle::remedy).orElse(Advice.of("")));
    }

    /** Compares the schemas that the shards would get on the target with the source's, and finds objects that are not carried. */
    private void checkSchema() throws SQLException {
        ShardSchemaCopy schema = new ShardSchemaCopy(from, to);
        named(
                "uncarried-objects",
                schema.uncarried(shards),
                "neither compared nor carried",
                "keep them in another schema that both servers have, or drop them");
        named(
                "roles",
                missingRoles(schema),
                "own or may use something in the shards, and %s does not have them".formatted(target.name()),
                "CREATE ROLE on the target");
        Optional<String> uncomputed = EmptySearchPath.check(from, shards);
        add(
                "expressions",
                uncomputed.isPresent() ? Outcome.FAILED : Outcome.OK,
                uncomputed.orElse("can be computed as replication does"),
                "");
        checkRehearsal(schema);
    }

    /** The roles that are missing on the target, including the one that will own the function library there, as on the source. */
    private List<String> missingRoles(ShardSchemaCopy schema) throws SQLException {
        List<String> roles = new ArrayList<>(schema.missingRoles(shards));
        Optional<String> owner = owners.library();
        if (owner.isPresent()
                && Grants.Owners.of(to).library().isEmpty()
                && Sql.isTrue(from, "SELECT NOT rolsuper FROM pg_roles WHERE rolname = ?", owner.get())
                && Sql.isTrue(to, "SELECT NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ?)", owner.get())) {
            roles.add(Sql.text(to, "SELECT quote_ident(?)", owner.get()));
        }
        return roles;
    }

    /** Runs the rehearsal only if the checks that it depends on have passed, since it would fail for the same reasons. */
    private void checkRehearsal(ShardSchemaCopy schema) throws SQLException {
        if (checks.stream()
                .anyMatch(check -> REHEARSAL_NEEDS.contains(check.name()) && check.outcome() == Outcome.FAILED)) {
            add("schema", Outcome.OK, "not compared, since something else has to be fixed first", "");
        } else if (!SameLibrary.isOn(from, to)) {
            add(
                    "schema",
                    Outcome.OK,
                    "%s does not have the function library of the source yet; compared when it has, before rows are copied"
                            .formatted(target.name()),
                    "");
        } else {
            List<String> found = schema.rehearse(shards).entrySet().stream()
                    .map(shard -> "shard %s: %s"
                            .formatted(
                                    shard.getKey(),
                                    String.join(
                                            "; ",
                                            shard.getValue()
                                                    .subList(
                                                            0,
                                                            Math.min(
                                                                    3,
                                                                    shard.getValue()
                                                                            .size())))))
                    .toList();
            add(
                    "schema",
                    found.isEmpty() ? Outcome.OK : Outcome.FAILED,
                    found.isEmpty()
                            ? "is what the changesets make on %s".formatted(target.name())
                            : "replaying the shards' changesets on %s gives a different schema. %s"
                                    .formatted(target.name(), shown(found)),
                    found.isEmpty() ? "" : "write a changeset for what was changed by hand, or undo it");
        }
    }

    private void named(String name, List<String> found, String whenFound, String remedy) {
        add(
                name,
                found.isEmpty() ? Outcome.OK : Outcome.FAILED,
                found.isEmpty() ? "none" : "%s: %s".formatted(whenFound, shown(List.copyOf(new TreeSet<>(found)))),
                found.isEmpty() ? "" : remedy);
    }

    private static String shown(List<String> found) {
        return String.join(", ", found.subList(0, Math.min(3, found.size())))
                + (found.size() > 3 ? String.format(Locale.ROOT, " and %,d more", found.size() - 3) : "");
    }

    private void checkRelativesAndSequences() throws SQLException {
        none(
                "outside-relatives",
                Outcome.FAILED,
                from,
                "SELECT r.target || ' with ' || r.relative FROM unnest(?) s, shardflake.outside_relatives(right(s, 4)::integer) r",
                "tables with a parent, child or partition outside their shard, through which writes pass the fence",
                "ALTER TABLE ... NO INHERIT or DETACH PARTITION, or bring both into the shard's schema",
                shards);
        none(
                "sequences",
                Outcome.FAILED,
                from,
                """
                SELECT format('%s at %s of %s', r.target, r.last_value, r.ends_at)
                  FROM unnest(?) s, shardflake.sequence_room(right(s, 4)::integer) r JOIN pg_sequence q ON q.seqrelid = r.target
                 WHERE r.numbers_left BETWEEN 1 AND 2 * r.margin AND NOT q.seqcycle
                """,
                "near their end, and a move leaves numbers out, as does its reverse",
                "a wider type (ALTER TABLE ... ALTER COLUMN ... TYPE bigint for an identity column, else ALTER SEQUENCE ... AS bigint), or another MAXVALUE or MINVALUE",
                shards);
    }

    private void checkDependencies() throws SQLException {
        none(
                "cross-schema-foreign-keys",
                Outcome.FAILED,
                from,
                TABLES + """
                SELECT k.conrelid::regclass || ' to ' || k.confrelid::regclass
                  FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class f ON f.oid = k.confrelid
                 WHERE k.contype = 'f' AND c.relnamespace <> f.relnamespace AND f.relnamespace IS DISTINCT FROM to_regnamespace('reference') AND (k.conrelid IN (SELECT oid FROM t) OR k.confrelid IN (SELECT oid FROM t))
                """,
                "foreign keys that leave their shard",
                "drop them: the other table stays behind. Foreign keys into schema reference may stay",
                shards);
        List<String> referenced = Sql.list(
                from,
                TABLES
                        + "SELECT DISTINCT format('%I.%I', n.nspname, f.relname) FROM pg_constraint k JOIN pg_class f ON f.oid = k.confrelid JOIN pg_namespace n ON n.oid = f.relnamespace WHERE k.contype = 'f' AND n.nspname = 'reference' AND k.conrelid IN (SELECT oid FROM t)",
                row -> row.getString(1),
                shards);
        none(
                "reference-tables",
                Outcome.FAILED,
                to,
                "SELECT name FROM unnest(?::text[]) name WHERE to_regclass(name) IS NULL",
                "%s lacks reference tables that the shards refer to".formatted(target.name()),
                Advice.of("bring them with %s", CliCommand.REFERENCE_REPAIR),
                from.createArrayOf("text", referenced.toArray()));
        checkChangeStreams(source.name(), from, "get no more changes of these shards when the move is done");
        checkChangeStream();
        List<String> inbound = InboundSubscriptions.find(from, shards);
        add(
                "inbound-subscriptions",
                inbound.isEmpty() ? Outcome.OK : Outcome.FAILED,
                inbound.isEmpty() ? "none" : "they would continue past the fence: " + String.join(", ", inbound),
                inbound.isEmpty() ? "" : InboundSubscriptions.REMEDY);
        List<String> extensions = Sql.list(from, TABLES + """
                SELECT DISTINCT e.extname || ' ' || e.extversion FROM t
                  JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
                  JOIN pg_type y ON y.oid = a.atttypid
                  JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid IN (y.oid, y.typelem) AND d.deptype = 'e'
                  JOIN pg_extension e ON e.oid = d.refobjid
                """, row -> row.getString(1), shards);
        Set<String> there = Set.copyOf(
                Sql.list(to, "SELECT extname || ' ' || extversion FROM pg_extension", row -> row.getString(1)));
        Set<String> names = Set.copyOf(Sql.list(to, "SELECT extname FROM pg_extension", row -> row.getString(1)));
        List<String> missing = extensions.stream()
                .filter(extension -> !names.contains(extension.substring(0, extension.indexOf(' '))))
                .toList();
        List<String> other = extensions.stream()
                .filter(extension -> !there.contains(extension))
                .toList();
        if (!missing.isEmpty()) {
            add(
                    "extensions",
                    Outcome.FAILED,
                    "%s lacks %s".formatted(target.name(), String.join(", ", missing)),
                    "CREATE EXTENSION on the target, in the same version");
        } else if (!other.isEmpty()) {
            add(
                    "extensions",
                    Outcome.WARNING,
                    "%s has other versions than %s".formatted(target.name(), String.join(", ", other)),
                    "ALTER EXTENSION ... UPDATE on the server with the older one");
        } else {
            add("extensions", Outcome.OK, "those that are used are on both", "");
        }
    }

    private void checkTexts() throws SQLException {
        String encodings = "SELECT current_setting('server_encoding')";
        String encoding = Sql.text(from, encodings);
        String encodingThere = Sql.text(to, encodings);
        boolean sameEncoding = encoding.equals(encodingThere);
        add(
                "encoding",
                sameEncoding ? Outcome.OK : Outcome.FAILED,
                "%s is %s, %s is %s".formatted(source.name(), encoding, target.name(), encodingThere),
                sameEncoding ? "" : "create the target's database with the same encoding");
        String collations =
                "SELECT datcollate || ', ctype ' || datctype FROM pg_database WHERE datname = current_database()";
        String here = Sql.text(from, collations);
        String there = Sql.text(to, collations);
        String versions =
                "SELECT COALESCE((SELECT datlocprovider::text || ' ' || COALESCE(pg_database_collation_actual_version(oid), 'none') FROM pg_database WHERE datname = current_database()), '')";
        String version = Sql.text(from, versions);
        String versionThere = Sql.text(to, versions);
        boolean same = here.equals(there) && version.equals(versionThere);
        add(
                "collation-versions",
                same ? Outcome.OK : Outcome.WARNING,
                same
                        ? "the same on both"
                        : "%s sorts by %s, version %s; %s by %s, version %s"
                                .formatted(source.name(), here, version, target.name(), there, versionThere),
                same
                        ? ""
                        : "texts may sort in another order on the target; its indexes are built there, so they are right");
    }

    private void checkSessions() throws SQLException {
        none(
                "prepared-transactions",
                Outcome.FAILED,
                from,
                TABLES + """
                SELECT x.gid FROM pg_prepared_xacts x
                  JOIN pg_locks own ON own.locktype = 'transactionid' AND own.transactionid = x.transaction AND own.pid IS NULL
                  JOIN pg_locks l ON l.virtualtransaction = own.virtualtransaction AND l.pid IS NULL
                 WHERE l.relation IN (SELECT oid FROM t)
                """,
                "hold locks until someone ends them",
                "COMMIT PREPARED or ROLLBACK PREPARED",
                shards);
        none(
                "long-transactions",
                Outcome.WARNING,
                from,
                "SELECT 'pid ' || pid || ' of ' || COALESCE(usename, '') FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND xact_start < now() - interval '1 minute'",
                "have been writing for more than a minute, and the replication slot waits for them",
                "wait for them, or end them");
    }

    /** Checks the difference between the clocks, minus the duration of the query. */
    private void checkClocks() throws SQLException {
        String clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        long first = Sql.number(from, clock);
        long middle = Sql.number(to, clock);
        long last = Sql.number(from, clock);
        long apart = middle < first ? middle - first : Math.max(0, middle - last);
        boolean together = Math.abs(apart) <= CLOCK_TOLERANCE_MILLIS;
        add(
                "clocks",
                together ? Outcome.OK : Outcome.WARNING,
                String.format(
                        Locale.ROOT,
                        "the clock of %s differs by %,d ms from that of %s",
                        target.name(),
                        apart,
                        source.name()),
                together
                        ? ""
                        : "correct the clock; ids keep increasing in any case, with the time of the clock that is ahead");
    }

    /**
     * Checks that one server can connect to the other, with a subscription that is rolled back. For a role that cannot keep the server
     * from logging a warning there is an empty publication meanwhile, so that there is none: see {@link Replication#createSubscription}.
     */
    private void checkReachable(
            String name, Connection subscriber, Connection publishing, MoveServer publisher, MoveServer subscribing)
            throws SQLException {
        String publication = "shardflake_preflight_" + Sql.number(publishing, "SELECT pg_backend_pid()");
        boolean needed = !Replication.silencesTheLog(subscriber)
                && Sql.isTrue(publishing, "SELECT has_database_privilege(current_database(), 'CREATE')");
        if (needed) {
            for (String left : Sql.list(publishing, LEFT_BY_KILLED_CHECKS, row -> row.getString(1))) {
                Sql.execute(publishing, "DROP PUBLICATION IF EXISTS " + left);
            }
            Sql.execute(publishing, "CREATE PUBLICATION " + publication);
        }
        try (Sql.Ending ending = () -> dropPublication(publishing, needed ? publication : "")) {
            checkReachable(name, subscriber, publication, publisher, subscribing, "");
        }
    }

    private boolean lacksLogin(String name, MoveServer publisher) {
        if (!publisher.url().lacksReplicationLogin()) {
            return false;
        }
        add(name, Outcome.FAILED, ReplicationLogin.expires(publisher.name()), ReplicationLogin.REMEDY);
        return true;
    }

    private static void dropPublication(Connection publishing, String name) throws SQLException {
        if (!name.isEmpty()) {
            Sql.execute(publishing, "DROP PUBLICATION " + name);
        }
    }

    private void checkReachable(
            String name,
            Connection subscriber,
            String publication,
            MoveServer publisher,
            MoveServer subscribing,
            String parameters)
            throws SQLException {
        if (lacksLogin(name, publisher)) {
            return;
        }
        try (Sql.Ending ending = Sql.rollingBack(subscriber)) {
            Replication.createSubscription(
                    subscriber,
                    "shardflake_preflight",
                    publication,
                    publisher.url().conninfo() + parameters,
                    "");
            add(name, Outcome.OK, "%s connects to %s".formatted(subscribing.name(), publisher.name()), "");
        } catch (SessionFailedException e) {
            throw e; // No other check could ask it either.
        } catch (SQLException e) {
            add(
                    name,
                    Outcome.FAILED,
                    "%s cannot connect to %s: %s".formatted(subscribing.name(), publisher.name(), Sql.message(e)),
                    PROHIBITED.equals(e.getSQLState())
                            ? "set PGPASSWORD, and have the pg_hba.conf of %s ask for it (scram-sha-256): PostgreSQL accepts no other login from a role that is not a superuser"
                                    .formatted(publisher.name())
                            : "the URL in the shard map has to work from %s too, and its pg_hba.conf let it in; without PGPASSWORD the server needs the password in its own ~/.pgpass"
                                    .formatted(subscribing.name()));
        }
    }
}
