/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.WARNING;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.shardflake.jdbc.Sql;
import org.shardflake.replication.ReplicationLogin;

/**
 * Finds roles of moves and reference tables whose password expires. A subscription that is connected stays connected after that, and fails at
 * its next interruption.
 */
final class PasswordFindings {

    private static final String OURS = "'^shardflake_[mr][0-9]+_'";

    /** Reads the users from connection strings that {@code ServerUrl.conninfo} has written. */
    private static final String SUBSCRIPTIONS = """
            SELECT subslotname, regexp_replace(substring(subconninfo FROM '(?:^| )user=''((?:[^''\\\\]|\\\\.)*)'''), '\\\\(.)', '\\1', 'g')
              FROM pg_subscription
             WHERE subname ~ %s AND subslotname IS NOT NULL
               AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
            """.formatted(OURS);

    /** Finds roles with an expiring password, including the connected role of a subscriber whose connection strings are hidden. */
    private static final String EXPIRING = """
            SELECT rolname, format('%%I', rolname), to_char(rolvaliduntil AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'), rolvaliduntil <= now()
              FROM pg_roles
             WHERE isfinite(rolvaliduntil)
               AND (rolname = ANY (?)
                    OR oid IN (SELECT a.usesysid FROM pg_replication_slots s JOIN pg_stat_activity a ON a.pid = s.active_pid WHERE s.slot_name ~ %s))
             ORDER BY rolname
            """.formatted(OURS);

    private record Login(String slot, String user) {}

    private record Role(String name, String quoted, String until, boolean isOver) {}

    private PasswordFindings() {}

    static List<Finding> of(ObservedState observed, DoctorConnections access) throws SQLException {
        Map<String, Set<String>> users = new HashMap<>();
        for (String server : observed.facts().keySet()) {
            access.onServer(
                    server,
                    connection -> logins(connection)
                            .forEach(login -> users.computeIfAbsent(login.slot(), slot -> new TreeSet<>())
                                    .add(login.user())));
        }
        List<Finding> findings = new ArrayList<>();
        for (String server : observed.facts().keySet()) {
            access.onServer(
                    server,
                    connection -> expiring(connection, users).forEach(role -> findings.add(finding(server, role))));
        }
        return findings;
    }

    private static List<Login> logins(Connection connection) throws SQLException {
        if (!Sql.isTrue(
                connection, "SELECT has_column_privilege('pg_catalog.pg_subscription', 'subconninfo', 'SELECT')")) {
            return List.of();
        }
        return Sql.list(connection, SUBSCRIPTIONS, row -> new Login(row.getString(1), row.getString(2)));
    }

    private static List<Role> expiring(Connection connection, Map<String, Set<String>> users) throws SQLException {
        Set<String> its = new TreeSet<>();
        for (String slot : Sql.list(
                connection,
                "SELECT slot_name FROM pg_replication_slots WHERE slot_name ~ " + OURS,
                row -> row.getString(1))) {
            its.addAll(users.getOrDefault(slot, Set.of()));
        }
        return Sql.list(
                connection,
                EXPIRING,
                row -> new Role(row.getString(1), row.getString(2), row.getString(3), row.getBoolean(4)),
                (Object) its.toArray(new String[0]));
    }

    private static Finding finding(String server, Role role) {
        return Finding.of(
                WARNING,
                server,
                "password-expires",
                "the password of role %s, by which other servers follow this one, %s %s; a subscription that is interrupted after that cannot log in again"
                        .formatted(role.name(), role.isOver() ? "expired at" : "expires at", role.until()),
                "on this server: ALTER ROLE %s VALID UNTIL 'infinity'; or before the next command of a move: %s"
                        .formatted(role.quoted(), ReplicationLogin.REMEDY));
    }
}
