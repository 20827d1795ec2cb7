/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.PROBLEM;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/** Finds what a former primary has left behind on the hosts of a failover server. */
final class HostFindings {

    private static final int CONNECT_TIMEOUT_SECONDS = 3;

    /**
     * Finds slots of moves and reference tables that a former primary has kept as a standby, except those that it keeps for its own primary.
     */
    private static final String STALE_SLOTS = """
              FROM pg_replication_slots s
             WHERE pg_is_in_recovery() AND NOT active AND slot_name ~ '^shardflake_(m[0-9]+_[0-9a-f]+_(forward|reverse)|r[0-9]+_[0-9a-f]{6}_[0-9a-f]{8})$'
               AND NOT COALESCE((to_jsonb(s) ->> 'synced')::boolean, false)
            """;

    /** @param primary its name and timeline, if it is one */
    private record Host(String name, int position, Optional<String> primary, List<String> staleSlots) {}

    private HostFindings() {}

    /** @param urls by the name of the server */
    static List<Finding> of(Map<String, ServerUrl> urls) {
        List<Finding> findings = new ArrayList<>();
        urls.forEach((server, url) -> {
            List<Host> hosts = hosts(url);
            List<String> primaries =
                    hosts.stream().flatMap(host -> host.primary().stream()).toList();
            if (primaries.size() > 1) {
                findings.add(
                        Finding.of(
                                PROBLEM,
                                server,
                                "two-primaries",
                                "has %s, which all take writes, and clients connect to any of them"
                                        .formatted(String.join(" and ", primaries)),
                                "stop those with the lower timeline, which were replaced; writes made there since exist nowhere else, so check them before the hosts are rewound or rebuilt"));
            }
            for (Host host : hosts) {
                if (!host.staleSlots().isEmpty()) {
                    findings.add(staleSlots(server, url, host));
                }
            }
        });
        return findings;
    }

    private static Finding staleSlots(String server, ServerUrl url, Host host) {
        return Finding.of(
                        PROBLEM,
                        server,
                        "stale-slot",
                        "standby %s has slots %s from when it was the primary, which keep its write-ahead log, and the primary's slots of that name from it"
                                .formatted(host.name(), String.join(", ", host.staleSlots())),
                        "drop them there with pg_drop_replication_slot")
                .with(() -> {
                    try (Connection connection = connect(url, host.position())) {
                        Sql.execute(connection, "SELECT pg_drop_replication_slot(slot_name)" + STALE_SLOTS);
                    }
                });
    }

    private static List<Host> hosts(ServerUrl url) {
        int count = url.dataSource().getServerNames().length;
        List<Host> hosts = new ArrayList<>();
        for (int position = 0; count > 1 && position < count; position++) {
            host(url, position).ifPresent(hosts::add);
        }
        return hosts;
    }

    /** The state of a host, or empty if it does not answer. */
    private static Optional<Host> host(ServerUrl url, int position) {
        PGSimpleDataSource all = url.dataSource();
        String name = all.getServerNames()[position] + ":" + all.getPortNumbers()[position];
        try (Connection connection = connect(url, position)) {
            Optional<String> primary = ServerUrl.isStandby(connection)
                    ? Optional.empty()
                    : Optional.of(
                            "%s (timeline %s)"
                                    .formatted(
                                            name,
                                            Sql.number(
                                                    connection,
                                                    "SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer")));
            List<String> staleSlots = Sql.list(
                    connection, "SELECT slot_name" + STALE_SLOTS + "ORDER BY slot_name", row -> row.getString(1));
            return Optional.of(new Host(name, position, primary, staleSlots));
        } catch (SQLException e) {
            return Optional.empty();
        }
    }

    private static Connection connect(ServerUrl url, int position) throws SQLException {
        PGSimpleDataSource all = url.dataSource();
        return url.toRead(() -> {}).connect("shardflake doctor", source -> {
            source.setServerNames(new String[] {all.getServerNames()[position]});
            source.setPortNumbers(new int[] {all.getPortNumbers()[position]});
            source.setTargetServerType("any");
            source.setConnectTimeout(CONNECT_TIMEOUT_SECONDS);
        });
    }
}
