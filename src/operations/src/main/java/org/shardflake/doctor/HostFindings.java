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

/** Whether more than one host of a server takes itself for the primary, as an old primary that came back after a failover does. */
final class HostFindings {

    private static final int CONNECT_TIMEOUT_SECONDS = 3;

    private HostFindings() {}

    /** @param urls by the name of the server */
    static List<Finding> of(Map<String, ServerUrl> urls) {
        List<Finding> findings = new ArrayList<>();
        urls.forEach((server, url) -> {
            List<String> primaries = primaries(url);
            if (primaries.size() > 1) {
                findings.add(
                        Finding.of(
                                PROBLEM,
                                server,
                                "two-primaries",
                                "has %s, which all take writes, and clients connect to any of them"
                                        .formatted(String.join(" and ", primaries)),
                                "stop those with the lower timeline, which were replaced; what was written there since is nowhere else, so look before they are rewound or made anew"));
            }
        });
        return findings;
    }

    private static List<String> primaries(ServerUrl url) {
        PGSimpleDataSource all = url.dataSource();
        List<String> primaries = new ArrayList<>();
        for (int host = 0; all.getServerNames().length > 1 && host < all.getServerNames().length; host++) {
            primary(url, all.getServerNames()[host], all.getPortNumbers()[host]).ifPresent(primaries::add);
        }
        return primaries;
    }

    /** Empty also for a host that does not answer. */
    private static Optional<String> primary(ServerUrl url, String host, int port) {
        try (Connection connection = url.toRead(() -> {}).connect("shardflake doctor", source -> {
            source.setServerNames(new String[] {host});
            source.setPortNumbers(new int[] {port});
            source.setTargetServerType("any");
            source.setConnectTimeout(CONNECT_TIMEOUT_SECONDS);
        })) {
            return ServerUrl.isStandby(connection)
                    ? Optional.empty()
                    : Optional.of(
                            "%s:%d (timeline %d)"
                                    .formatted(
                                            host,
                                            port,
                                            Sql.number(
                                                    connection,
                                                    "SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer")));
        } catch (SQLException e) {
            return Optional.empty();
        }
    }
}
