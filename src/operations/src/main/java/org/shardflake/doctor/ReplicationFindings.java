/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.PROBLEM;
import static org.shardflake.doctor.Severity.WARNING;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardSet;
import org.shardflake.replication.ChangeStreams;
import org.shardflake.replication.InboundSubscriptions;

/**
 * Finds the user's own replication of shards. A move refuses subscriptions that write to them, and a copy that is not the shard must get
 * no rows; readers of their changes have to know of a move.
 */
final class ReplicationFindings {

    private ReplicationFindings() {}

    static List<Finding> of(ObservedState observed, DoctorConnections access) throws SQLException {
        List<Finding> findings = new ArrayList<>();
        ShardSet all = ShardSet.range(0, observed.map().sharding().shardCount() - 1);
        for (String name : observed.facts().keySet()) {
            Server server = observed.map().server(name);
            ShardSet its = observed.map().shards(server);
            ShardSet others = ShardSet.of(
                    all.stream().filter(shard -> !its.contains(shard)).toArray());
            access.onServer(name, connection -> {
                List<String> streams = ChangeStreams.find(connection, its);
                if (!streams.isEmpty()) {
                    findings.add(Finding.of(
                            WARNING,
                            name,
                            "change-stream",
                            "readers of %s do not follow shards that are moved".formatted(String.join(", ", streams)),
                            Advice.of(
                                    "before a move: make sure that they finish with what this server sends before they apply what the other one sends, by each row's key. "
                                            + ChangeStreams.REMEDY,
                                    CliCommand.CDC_CREATE)));
                }
                for (String found : InboundSubscriptions.find(connection, its)) {
                    findings.add(Finding.of(
                            WARNING,
                            name,
                            "inbound-subscription",
                            found + ", a shard's, which cannot be moved as long as it does",
                            "before a move: " + InboundSubscriptions.REMEDY));
                }
                for (String found : InboundSubscriptions.find(connection, others)) {
                    findings.add(Finding.of(
                            PROBLEM,
                            name,
                            "inbound-subscription",
                            found + ", a copy of a shard that is on another server; those rows are not in the shard",
                            InboundSubscriptions.REMEDY));
                }
            });
        }
        return findings;
    }
}
