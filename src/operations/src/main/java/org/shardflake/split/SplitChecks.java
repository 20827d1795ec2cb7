/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.split;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.SplitRequest;
import org.shardflake.move.internal.session.SameServer;
import org.shardflake.move.server.MoveServer;
import org.shardflake.preflight.Preflight;
import org.shardflake.preflight.PreflightCheck;
import org.shardflake.preflight.PreflightCheck.Outcome;
import org.shardflake.server.ServerUrl;

/** Checks whether a server can be split by a standby, before anything is changed. */
final class SplitChecks {

    private static final Pattern APPLICATION_NAME = Pattern.compile("application_name=(\\S+)");

    private static final String MISSING_RIGHTS = """
            SELECT statement FROM (VALUES
                ('GRANT ALTER SYSTEM ON PARAMETER default_transaction_read_only', has_parameter_privilege('default_transaction_read_only', 'ALTER SYSTEM')),
                ('GRANT ALTER SYSTEM ON PARAMETER autovacuum', has_parameter_privilege('autovacuum', 'ALTER SYSTEM')),
                ('GRANT ALTER SYSTEM ON PARAMETER primary_slot_name', has_parameter_privilege('primary_slot_name', 'ALTER SYSTEM')),
                ('GRANT EXECUTE ON FUNCTION pg_reload_conf()', has_function_privilege('pg_reload_conf()', 'EXECUTE')),
                ('GRANT EXECUTE ON FUNCTION pg_promote(boolean, integer)', has_function_privilege('pg_promote(boolean, integer)', 'EXECUTE')),
                ('GRANT EXECUTE ON FUNCTION pg_replication_origin_advance(text, pg_lsn)', has_function_privilege('pg_replication_origin_advance(text, pg_lsn)', 'EXECUTE'))
            ) right_of (statement, present) WHERE NOT present
            """;

    /** Other databases that the standby has copies of, which the split neither closes nor removes. */
    private static final String OTHER_DATABASES =
            "SELECT datname FROM pg_database WHERE datallowconn AND datname NOT IN ('template0', 'template1', 'postgres', current_database()) ORDER BY datname";

    private static final String SESSIONS =
            "SELECT DISTINCT COALESCE(usename, '?') FROM pg_stat_activity WHERE datid IS NOT NULL AND pid <> pg_backend_pid() AND application_name !~ '^shardflake' ORDER BY 1";

    /**
     * A URL that may lead to one of the servers.
     *
     * @param what what has it
     * @param isServers whether it is the server's own, of which commands make sure that it leads to a primary
     */
    record KnownUrl(String what, ServerUrl url, boolean isServers) {}

    private final SplitRequest request;
    private final MoveServer source;
    private final MoveServer target;
    private final Connection from;
    private final Connection standby;
    private final List<PreflightCheck> checks = new ArrayList<>();

    private SplitChecks(SplitRequest request, MoveServer source, Connection from, Connection standby) {
        this.request = request;
        this.source = source;
        this.target = new MoveServer(request.target().name(), request.standby());
        this.from = from;
        this.standby = standby;
    }

    /**
     * @param catalog where the catalog is
     * @param urls those by which anybody may come to the catalog or a server of the shard map
     */
    static List<PreflightCheck> run(
            SplitRequest request, MoveServer source, ServerUrl catalog, List<KnownUrl> urls, String application)
            throws SQLException {
        return Sql.with(
                source.connect(application),
                from -> Sql.with(
                        request.standby().connectToEither(application),
                        standby -> Sql.with(
                                catalog.connect(application),
                                catalogs -> new SplitChecks(request, source, from, standby).run(catalogs, urls))));
    }

    private List<PreflightCheck> run(Connection catalogs, List<KnownUrl> urls) throws SQLException {
        checkStandby();
        if (checks.stream().anyMatch(check -> check.outcome() == Outcome.FAILED)) {
            return checks; // The others would speak of some other server.
        }
        checkUpstream();
        checkAddresses(urls);
        checkRights();
        checkSettings();
        checkCopied(catalogs);
        checks.addAll(Preflight.ofSplit(source, target, request.shards(), from, standby));
        return checks;
    }

    private void add(String name, boolean passed, String found, CharSequence remedy) {
        add(name, passed ? Outcome.OK : Outcome.FAILED, found, passed ? "" : remedy);
    }

    private void add(String name, Outcome outcome, String found, CharSequence remedy) {
        checks.add(new PreflightCheck(name, outcome, found, remedy));
    }

    private void checkStandby() throws SQLException {
        String its = request.standby().hosts();
        boolean oneHost = !its.contains(",");
        boolean recovers = Sql.isTrue(standby, "SELECT pg_is_in_recovery()");
        add(
                "standby",
                oneHost && recovers,
                oneHost
                        ? "%s is %s".formatted(its, recovers ? "a standby" : "not a standby, but a primary")
                        : "%s are several hosts".formatted(its),
                "give the URL of one physical standby of %s".formatted(source.name()));
        Optional<String> here = Sql.systemIdentifier(from);
        Optional<String> there = Sql.systemIdentifier(standby);
        boolean mayAsk = here.isPresent() && there.isPresent();
        String database = Sql.text(from, "SELECT current_database()");
        boolean same =
                database.equals(Sql.text(standby, "SELECT current_database()")) && (!mayAsk || here.equals(there));
        add(
                "standby-of-source",
                same,
                same
                        ? mayAsk
                                ? "has the system identifier of %s".formatted(source.name())
                                : "cannot be asked; it shows when the standby receives writes"
                        : "it is not a standby of %s, or the URL names another database than %s"
                                .formatted(source.name(), database),
                "give the URL of a physical standby of %s, with the same database".formatted(source.name()));
    }

    /** Refuses servers that stream from the standby, as they would become copies of the new server, and slots that are not ours to drop. */
    private void checkUpstream() throws SQLException {
        long its = Standby.standbys(standby);
        add(
                "standby-has-standbys",
                its == 0,
                its == 0 ? "nothing streams from it" : "it has %s senders of its log, or physical slots".formatted(its),
                "end what streams from it, and drop its physical slots: what follows it would follow %s"
                        .formatted(target.name()));
        String slot = Sql.text(standby, "SELECT current_setting('primary_slot_name')");
        boolean found = !Standby.senders(from, slot).isEmpty();
        String how = slot.isEmpty() ? "without a slot" : "from slot " + slot;
        add(
                "standby-upstream",
                found,
                found
                        ? "streams %s of %s".formatted(how, source.name())
                        : "nothing streams from %s %s".formatted(source.name(), how),
                "let the standby stream from %s itself, not from another standby or only from an archive"
                        .formatted(source.name()));
    }

    /** Refuses a standby whose address is in another server's URL: clients look for the primary, and there will be two. */
    private void checkAddresses(List<KnownUrl> urls) throws SQLException {
        Set<String> found = new LinkedHashSet<>();
        List<String> its = List.of(request.standby().hosts().split(","));
        try (SameServer there = SameServer.as(standby)) {
            for (KnownUrl known : urls) {
                List<String> hosts = List.of(known.url().hosts().split(","));
                for (int position = 0; position < hosts.size(); position++) {
                    if (its.contains(hosts.get(position))) {
                        found.add("%s names %s".formatted(known.what(), hosts.get(position)));
                    } else if (hosts.size() > 1 || !known.isServers()) {
                        leadsThere(known.url(), position, there)
                                .map(why -> known.what() + " " + why)
                                .ifPresent(found::add);
                    }
                }
            }
        }
        add(
                "standby-unknown",
                found.isEmpty(),
                found.isEmpty() ? "no URL in the catalog leads to it" : String.join("; ", found),
                Advice.of(
                        "take the standby out of them first (%s; and of every URL that applications have), since clients that ask for the primary would find two",
                        CliCommand.SERVER_CHANGE));
    }

    private static Optional<String> leadsThere(ServerUrl url, int position, SameServer standby) {
        PGSimpleDataSource all = url.dataSource();
        String host = all.getServerNames()[position];
        int port = all.getPortNumbers()[position];
        try {
            boolean leads = Sql.with(
                    url.toRead(() -> {}).connect("shardflake split", one -> {
                        one.setServerNames(new String[] {host});
                        one.setPortNumbers(new int[] {port});
                        one.setTargetServerType("any");
                    }),
                    standby::has);
            return leads ? Optional.of("leads to it by %s:%s".formatted(host, port)) : Optional.empty();
        } catch (SQLException e) {
            return Optional.of("names %s:%s, which cannot be asked whether it is the standby: %s"
                    .formatted(host, port, Sql.message(e)));
        }
    }

    private void checkRights() throws SQLException {
        List<String> missing = Sql.list(standby, MISSING_RIGHTS, row -> row.getString(1));
        String role = Sql.text(standby, "SELECT quote_ident(current_user)");
        add(
                "privileges-split",
                missing.isEmpty(),
                missing.isEmpty()
                        ? "%s may promote the standby".formatted(role)
                        : "%s lacks %s rights".formatted(role, missing.size()),
                "on %s, whose standby then has them, too: %s"
                        .formatted(
                                source.name(),
                                String.join(
                                        "; ",
                                        missing.stream()
                                                .map(right -> right + " TO " + role)
                                                .toList())));
    }

    private void checkSettings() throws SQLException {
        setting(
                "standby-archive",
                "restore_command",
                "",
                "reads the archive, too",
                "ALTER SYSTEM RESET restore_command on the standby and SELECT pg_reload_conf(), so that it can be made to stand still");
        setting(
                "standby-delay",
                "recovery_min_apply_delay",
                "0",
                "replays late on purpose",
                "set recovery_min_apply_delay = 0 on the standby");
        setting(
                "standby-synchronous",
                "synchronous_standby_names",
                "",
                "will wait for standbys that it does not have",
                "ALTER SYSTEM SET synchronous_standby_names = '' on the standby and SELECT pg_reload_conf()");
        boolean archives = Sql.isTrue(standby, "SELECT current_setting('archive_mode') <> 'off'");
        add(
                "standby-archives",
                archives ? Outcome.WARNING : Outcome.OK,
                archives ? "archive_mode is on, and it will archive its own log" : "archive_mode is off",
                archives
                        ? "make sure that archive_command does not lead to where %s archives".formatted(source.name())
                        : "");
        checkSynchronous();
    }

    private void setting(String check, String setting, String wanted, String otherwise, String remedy)
            throws SQLException {
        String value = Sql.text(standby, "SELECT current_setting(?)", setting);
        boolean right = value.equals(wanted);
        add(check, right, right ? setting + " is " + (wanted.isEmpty() ? "empty" : wanted) : "it " + otherwise, remedy);
    }

    /** Checks synchronous standbys and failover slots, since commits on the source and slots wait for this standby, which ceases to be one. */
    private void checkSynchronous() throws SQLException {
        List<String> synchronous = Sql.list(
                from,
                "SELECT application_name FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum', 'potential')",
                row -> row.getString(1));
        Optional<String> name = applicationName();
        // A name with spaces is found up to the first.
        boolean may = synchronous.stream().anyMatch(its -> name.isEmpty() || its.startsWith(name.get()));
        String slot = Sql.text(standby, "SELECT current_setting('primary_slot_name')");
        boolean awaited = !slot.isEmpty()
                && Arrays.asList(Sql.text(
                                        from,
                                        "SELECT COALESCE(current_setting('synchronized_standby_slots', true), '')")
                                .split("\\s*,\\s*"))
                        .contains(slot);
        add(
                "source-waits",
                !may && !awaited,
                may
                        ? "commits on %s wait for %s"
                                .formatted(source.name(), name.orElse(String.join(", ", synchronous)))
                        : awaited
                                ? "slots of %s that fail over wait for %s".formatted(source.name(), slot)
                                : "%s does not wait for it".formatted(source.name()),
                may
                        ? "take the standby out of synchronous_standby_names on %s".formatted(source.name())
                        : "take %s out of synchronized_standby_slots on %s".formatted(slot, source.name()));
    }

    private Optional<String> applicationName() throws SQLException {
        List<@Nullable String> conninfo =
                Sql.list(standby, "SELECT conninfo FROM pg_stat_wal_receiver", row -> row.getString(1));
        if (conninfo.isEmpty() || conninfo.get(0) == null) {
            return Optional.empty();
        }
        Matcher named = APPLICATION_NAME.matcher(conninfo.get(0));
        if (named.find()) {
            return Optional.of(named.group(1).replace("'", ""));
        }
        String cluster = Sql.text(standby, "SELECT current_setting('cluster_name')");
        return Optional.of(cluster.isEmpty() ? "walreceiver" : cluster);
    }

    /** Checks objects that the standby shares with the source and must not use. */
    private void checkCopied(Connection catalogs) throws SQLException {
        List<String> subscriptions = Standby.enabledSubscriptions(from);
        add(
                "subscriptions",
                subscriptions.isEmpty(),
                subscriptions.isEmpty()
                        ? "none is enabled on %s".formatted(source.name())
                        : "%s has %s, of which the standby has a copy that would take what is meant for the original"
                                .formatted(source.name(), String.join(", ", subscriptions)),
                "ALTER SUBSCRIPTION ... DISABLE until the standby is promoted; those of reference tables cannot be split yet");
        long prepared = Standby.preparedTransactions(from);
        add(
                "prepared-transactions",
                prepared == 0,
                prepared == 0 ? "none" : "%s has %s, in all its databases".formatted(source.name(), prepared),
                "end them with COMMIT PREPARED or ROLLBACK PREPARED: see pg_prepared_xacts");
        boolean reference = Sql.isTrue(catalogs, "SELECT EXISTS (SELECT FROM shardflake_catalog.reference)");
        add(
                "reference",
                !reference,
                reference ? "there are reference tables" : "there are no reference tables",
                "a server with reference tables cannot be split yet: add a server, and move shards to it");
        boolean elsewhere;
        try (SameServer here = SameServer.as(from)) {
            elsewhere = here.has(catalogs) && !here.hasDatabase(catalogs);
        }
        add(
                "catalog",
                !elsewhere,
                elsewhere
                        ? "the catalog is in another database of %s, and so is a copy of it on the standby"
                                .formatted(source.name())
                        : "no copy of the catalog is left on the standby",
                "bring the catalog to another server, or into the database of the shards");
        List<String> others = Sql.list(from, OTHER_DATABASES, row -> row.getString(1));
        add(
                "other-databases",
                others.isEmpty() ? Outcome.OK : Outcome.WARNING,
                others.isEmpty() ? "none" : "the standby keeps copies of %s".formatted(String.join(", ", others)),
                others.isEmpty()
                        ? ""
                        : "drop them on %s when it is split, and make sure that no one uses them"
                                .formatted(target.name()));
        List<String> sessions = Sql.list(standby, SESSIONS, row -> row.getString(1));
        add(
                "standby-sessions",
                sessions.isEmpty() ? Outcome.OK : Outcome.WARNING,
                sessions.isEmpty() ? "none" : "%s use the standby".formatted(String.join(", ", sessions)),
                sessions.isEmpty()
                        ? ""
                        : "they will read shards that no longer follow: let them read elsewhere. If one writes before %s is closed, the split is given up"
                                .formatted(target.name()));
    }
}
