/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.WARNING;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.gateway.Gateway;
import org.shardflake.gateway.Gateways;
import org.shardflake.grants.RowSecurity;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/** Finds gateways that the catalog knows to be behind the shard map. */
final class GatewayFindings {

    private GatewayFindings() {}

    static List<Finding> of(ServerUrl catalog, ObservedState observed, DoctorConnections access) {
        List<Finding> findings = new ArrayList<>();
        for (Gateway gateway : new Gateways(catalog, ServerUrl::parse).all()) {
            if (gateway.isBehind()) {
                findings.add(Finding.of(
                        WARNING,
                        "catalog",
                        "gateway-behind",
                        "gateway %s at %s has not followed shards that moved, so its queries fail%s"
                                .formatted(
                                        gateway.name(),
                                        gateway.url(),
                                        gateway.problem()
                                                .map(problem -> ": " + problem)
                                                .orElse("")),
                        Advice.of(
                                "%s, or %s",
                                CliCommand.GATEWAY_REFRESH.with(gateway.name()),
                                CliCommand.GATEWAY_DROP.with(gateway.name()))));
            }
            for (String server : observed.facts().keySet()) {
                TableFindings.onServer(
                        access, server, findings, connection -> addHidden(connection, server, gateway, findings));
            }
        }
        return findings;
    }

    private static void addHidden(Connection connection, String server, Gateway gateway, List<Finding> findings)
            throws SQLException {
        List<String> hidden = RowSecurity.hiddenFrom(connection, gateway.reader());
        if (!hidden.isEmpty()) {
            findings.add(Finding.of(
                    WARNING,
                    server,
                    "gateway-rows-hidden",
                    String.format(
                            Locale.ROOT,
                            "has %s whose row-level security hides rows from %s, as which gateway %s reads, so its queries of them fail: %s",
                            Plural.of(hidden.size(), "table"),
                            gateway.reader(),
                            gateway.name(),
                            hidden.get(0)),
                    "ALTER ROLE %s BYPASSRLS, if they are to be read there"
                            .formatted(Sql.text(connection, "SELECT quote_ident(?)", gateway.reader()))));
        }
    }
}
