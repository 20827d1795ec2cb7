/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.preflight;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.grants.Grant;
import org.shardflake.grants.Grants;
import org.shardflake.jdbc.Sql;
import org.shardflake.preflight.PreflightCheck.Outcome;
import org.shardflake.replication.Replication;

/** Checks whether a server is set up for moves, in either direction. */
public final class ServerChecks {

    private static final String HAS_STANDBY = """
            SELECT EXISTS (SELECT FROM pg_stat_replication r
                            WHERE NOT EXISTS (SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')
                              AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = r.pid AND a.datname IS NOT NULL))
            """;

    private static final String MISSING_FOR_FAILOVER = """
            SELECT 'no standby keeps slots (sync_replication_slots = on, and a dbname in its primary_conninfo)'
             WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name LIKE '%slotsync worker')
            UNION ALL
            SELECT 'no standby has a slot of its own with hot_standby_feedback = on (primary_slot_name)'
             WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_type = 'physical' AND active AND xmin IS NOT NULL)
            UNION ALL
            SELECT 'synchronized_standby_slots is empty, so the other server may get rows that a standby lacks'
             WHERE current_setting('synchronized_standby_slots', true) = ''
            """;

    private final Connection connection;
    private final Grants.Owners elsewhere;
    private final List<PreflightCheck> checks = new ArrayList<>();

    private ServerChecks(Connection connection, Grants.Owners elsewhere) {
        this.connection = connection;
        this.elsewhere = elsewhere;
    }

    /** The requirements of one more move, and whether the server meets them. */
    public static List<PreflightCheck> run(Connection connection) throws SQLException {
        return run(connection, Grants.Owners.NONE);
    }

    /** The requirements of one more move, for shards that belong to these roles. */
    static List<PreflightCheck> run(Connection connection, Grants.Owners elsewhere) throws SQLException {
        ServerChecks checks = new ServerChecks(connection, elsewhere);
        checks.run();
        return checks.checks;
    }

    private void run() throws SQLException {
        setting(
                "wal-level",
                "current_setting('wal_level') = 'logical'",
                "wal_level is ' || current_setting('wal_level') || '",
                "set wal_level = logical and restart");
        setting(
                "replication-slots",
                "(SELECT count(*) FROM pg_replication_slots) < current_setting('max_replication_slots')::integer",
                "' || (SELECT count(*) FROM pg_replication_slots) || ' of ' || current_setting('max_replication_slots') || ' slots are in use, one is needed",
                "raise max_replication_slots and restart, or drop unused slots");
        setting(
                "wal-senders",
                "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walsender') + 1 < current_setting('max_wal_senders')::integer",
                "' || (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walsender') || ' of ' || current_setting('max_wal_senders') || ' senders are in use, two are needed while copying",
                "raise max_wal_senders and restart");
        setting(
                "logical-replication-workers",
                "(SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'logical replication%worker') < current_setting('max_logical_replication_workers')::integer",
                "' || (SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'logical replication%worker') || ' of ' || current_setting('max_logical_replication_workers') || ' workers are in use, one is needed",
                "raise max_logical_replication_workers and restart");
        setting(
                "worker-processes",
                "current_setting('max_worker_processes')::integer > current_setting('max_logical_replication_workers')::integer",
                "max_worker_processes is ' || current_setting('max_worker_processes') || ', max_logical_replication_workers ' || current_setting('max_logical_replication_workers') || '",
                "raise max_worker_processes above max_logical_replication_workers and restart");
        setting(
                "replication-origins",
                "(SELECT count(*) FROM pg_replication_origin) < COALESCE(current_setting('max_active_replication_origins', true), current_setting('max_replication_slots'))::integer",
                "' || (SELECT count(*) FROM pg_replication_origin) || ' origins are in use, one is needed",
                "raise max_active_replication_origins (before PostgreSQL 18: max_replication_slots) and restart");
        checkPrivileges();
        checkFailover();
        boolean keepsAll = Sql.isTrue(
                connection,
                "SELECT current_setting('max_slot_wal_keep_size') = '-1' AND COALESCE(current_setting('idle_replication_slot_timeout', true), '0') IN ('0', '0s', '0min')");
        checks.add(
                new PreflightCheck(
                        "slot-retention",
                        keepsAll ? Outcome.OK : Outcome.WARNING,
                        keepsAll ? "slots keep what they need" : "the server may give up a slot that falls behind",
                        keepsAll
                                ? ""
                                : "set max_slot_wal_keep_size = -1 and idle_replication_slot_timeout = 0, or watch the lag: a move that has lost its slot has to be ended, and to begin again"));
    }

    /** Checks each privilege separately. */
    private void checkPrivileges() throws SQLException {
        List<Grant> missing = Grants.missing(connection, Grants.Work.MOVES, elsewhere);
        String role = Sql.text(connection, "SELECT current_user");
        checks.add(
                missing.isEmpty()
                        ? new PreflightCheck("privileges", Outcome.OK, role + " has what a move needs", "")
                        : new PreflightCheck(
                                "privileges",
                                Outcome.FAILED,
                                "%s lacks the right %s"
                                        .formatted(
                                                role,
                                                missing.stream().map(Grant::why).collect(Collectors.joining("; "))),
                                missing.stream()
                                        .flatMap(grant -> grant.statement().stream())
                                        .collect(Collectors.joining("; "))));
    }

    /**
     * Checks whether a move would survive a failover of this server. A primary does not know what its standbys are set to, but it sees the
     * connection by which they keep slots, their feedback, and its own part.
     */
    private void checkFailover() throws SQLException {
        if (!Sql.isTrue(connection, HAS_STANDBY)) {
            checks.add(new PreflightCheck("failover-slots", Outcome.OK, "no standby is connected", ""));
            return;
        }
        if (!Replication.hasFailover(connection)) {
            checks.add(new PreflightCheck(
                    "failover-slots",
                    Outcome.WARNING,
                    "standbys of PostgreSQL before 17 keep no slots, so a move ends with a failover of this server",
                    Advice.of(
                            "after a failover: %s, which needs both servers, and begin again",
                            CliCommand.MOVE_CANCEL)));
            return;
        }
        List<String> missing = Sql.list(connection, MISSING_FOR_FAILOVER, row -> row.getString(1));
        checks.add(
                missing.isEmpty()
                        ? new PreflightCheck("failover-slots", Outcome.OK, "standbys keep the slots", "")
                        : new PreflightCheck(
                                "failover-slots",
                                Outcome.WARNING,
                                "a failover of this server may end the move: " + String.join("; ", missing),
                                "set what is missing, see the guide's page on high availability; or begin again after a failover"));
    }

    private void setting(String name, String condition, String found, String remedy) throws SQLException {
        PreflightCheck check = Sql.list(
                        connection,
                        "SELECT %s, '%s'".formatted(condition, found),
                        row -> new PreflightCheck(
                                name,
                                row.getBoolean(1) ? Outcome.OK : Outcome.FAILED,
                                row.getString(2),
                                row.getBoolean(1) ? "" : remedy))
                .get(0);
        checks.add(check);
    }
}
