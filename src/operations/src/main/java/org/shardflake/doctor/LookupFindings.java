/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.PROBLEM;
import static org.shardflake.doctor.Severity.WARNING;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.lookup.LookupShards;

/** Finds lookups whose creation or removal did not finish, and those on which shards and catalog disagree. */
final class LookupFindings {

    private LookupFindings() {}

    static List<Finding> of(ShardCatalog catalog, ObservedState observed, DoctorConnections access) {
        List<Finding> findings = new ArrayList<>();
        List<LookupDefinition> lookups = catalog.lookups();
        for (LookupDefinition lookup : lookups) {
            switch (lookup.state()) {
                case CREATING -> findings.add(unfinished(lookup, CliCommand.LOOKUP_CREATE));
                case DROPPING -> findings.add(unfinished(lookup, CliCommand.LOOKUP_DROP));
                case FILLING, READY -> {}
            }
        }
        for (Map.Entry<String, ServerFacts> one : observed.facts().entrySet()) {
            String server = one.getKey();
            ShardSet shards = ShardSet.of(one.getValue().shards().keySet().stream()
                    .filter(shard -> observed.isSettled(shard)
                            && observed.map().server(shard).name().equals(server))
                    .toList());
            if (lookups.isEmpty() || shards.isEmpty()) {
                continue;
            }
            TableFindings.onServer(
                    access,
                    server,
                    findings,
                    connection -> LookupShards.examine(connection, server, lookups, shards)
                            .forEach(trouble -> findings.add(
                                    Finding.of(PROBLEM, server, trouble.check(), trouble.found(), trouble.remedy()))));
        }
        return findings;
    }

    private static Finding unfinished(LookupDefinition lookup, CliCommand command) {
        return Finding.of(
                WARNING,
                "catalog",
                "lookup-unfinished",
                "lookup %s is %s, so its values are neither claimed nor found".formatted(lookup.name(), lookup.state()),
                Advice.of("if no command is working on it, run %s again", command.with(lookup.name())));
    }
}
