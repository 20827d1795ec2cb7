/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.gateway;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.gateway.Gateway;
import org.shardflake.gateway.Gateways.Refreshed;
import org.shardflake.gateway.Gateways.Status;
import org.shardflake.jdbc.Plural;

/** Shows gateways. */
final class GatewayView {

    private GatewayView() {}

    private static Map<String, @Nullable Object> facts(Gateway gateway) {
        Map<String, @Nullable Object> facts = new LinkedHashMap<>();
        facts.put("name", gateway.name());
        facts.put("url", gateway.url());
        facts.put("schema", gateway.schema());
        facts.put("reader", gateway.reader());
        return facts;
    }

    static Map<String, @Nullable Object> facts(Refreshed refreshed) {
        Map<String, @Nullable Object> facts = facts(refreshed.gateway());
        facts.put("tables", refreshed.tables());
        facts.put("parts", refreshed.parts());
        facts.put("changed", refreshed.changed());
        return facts;
    }

    static String text(Refreshed refreshed) {
        String what = "schema %s on %s: %s in %s"
                .formatted(
                        refreshed.gateway().schema(),
                        refreshed.gateway().url(),
                        Plural.of(refreshed.tables(), "table"),
                        Plural.of(refreshed.parts(), "part"));
        return refreshed.changed() == 0 ? what + ", as before" : what + ", %s changed".formatted(refreshed.changed());
    }

    static Map<String, @Nullable Object> facts(Status status) {
        Map<String, @Nullable Object> facts = facts(status.gateway());
        facts.put("current", status.isCurrent());
        facts.put("mapVersion", status.gateway().mapVersion());
        facts.put(
                "refreshedAt",
                status.gateway().refreshedAt().map(Object::toString).orElse(null));
        facts.put("problem", status.problem().orElse(null));
        return facts;
    }

    static String table(List<Status> all) {
        TableWriter table = new TableWriter("NAME", "URL", "SCHEMA", "STATE").mayLeaveOut("SCHEMA", "URL");
        for (Status status : all) {
            Gateway gateway = status.gateway();
            table.row(gateway.name(), gateway.url(), gateway.schema(), state(status));
        }
        return table.toString();
    }

    private static String state(Status status) {
        if (status.isCurrent()) {
            return "reads all shards";
        }
        return status.problem()
                .map(problem -> "behind: " + problem)
                .orElseGet(() -> "behind: run "
                        + CliCommand.GATEWAY_REFRESH.with(status.gateway().name()));
    }
}
