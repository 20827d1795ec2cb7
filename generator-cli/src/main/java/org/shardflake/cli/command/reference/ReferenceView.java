/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.reference;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.shardflake.CliCommand;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.jdbc.Plural;
import org.shardflake.reference.ReferenceStatus;
import org.shardflake.reference.ReferenceTables;

/** Shows the state of reference tables, and the results of commands on them. */
final class ReferenceView {

    private ReferenceView() {}

    static Map<String, Object> facts(ReferenceTables.Deployment deployed) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("home", deployed.home());
        facts.put("changeSets", deployed.changeSets());
        facts.put("servers", deployed.servers());
        facts.put("tables", deployed.tables());
        return facts;
    }

    static String text(ReferenceTables.Deployment deployed) {
        return deployed.changeSets() == 0
                ? "nothing to deploy: all servers match the changelog"
                : "deployed %s to %s; reference tables are written on %s"
                        .formatted(
                                Plural.of(deployed.changeSets(), "changeset"),
                                Plural.of(deployed.servers(), "server"),
                                deployed.home());
    }

    static Map<String, Object> facts(ReferenceTables.Adopted adopted) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("table", adopted.table());
        facts.put("rows", adopted.rows());
        facts.put("copied", adopted.copied());
        facts.put("shards", adopted.shards());
        facts.put("changeSet", adopted.changeSet());
        return facts;
    }

    static String text(ReferenceTables.Adopted adopted) {
        return adopted.copied() == 0
                ? String.format(
                        Locale.ROOT, "%s has the same rows as all %,d shards", adopted.table(), adopted.shards())
                : String.format(
                        Locale.ROOT,
                        "copied %s, the same in all %,d shards, into %s",
                        Plural.of(adopted.copied(), "row"),
                        adopted.shards(),
                        adopted.table());
    }

    static Map<String, Object> facts(ReferenceStatus status) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("home", status.home());
        facts.put("tables", status.tables());
        List<Map<String, Object>> servers = new ArrayList<>();
        for (ReferenceStatus.Copy copy : status.servers()) {
            Map<String, Object> server = new LinkedHashMap<>();
            server.put("server", copy.server());
            copy.lag().ifPresent(lag -> server.put("lagMillis", lag.toMillis()));
            copy.trouble().ifPresent(trouble -> server.put("trouble", trouble));
            servers.add(server);
        }
        facts.put("servers", servers);
        facts.put(
                "unfinished",
                status.unfinished().stream().map(CliCommand::toString).toList());
        return facts;
    }

    static String text(ReferenceStatus status) {
        TableWriter table = new TableWriter("SERVER", "LAG", "STATE");
        table.row(status.home(), "", "home");
        for (ReferenceStatus.Copy copy : status.servers()) {
            table.row(
                    copy.server(),
                    copy.lag().map(ReferenceView::millis).orElse(""),
                    copy.trouble().orElse(copy.lag().isPresent() ? "follows" : "does not follow"));
        }
        StringBuilder text = new StringBuilder("%s\n\n%s"
                .formatted(
                        status.tables().isEmpty() ? "no reference tables" : String.join(", ", status.tables()), table));
        status.unfinished().forEach(command -> text.append("\ninterrupted: ").append(command));
        return text.toString();
    }

    private static String millis(Duration duration) {
        return duration.toMillis() + " ms";
    }

    static List<Map<String, Object>> facts(Map<String, Long> changed) {
        List<Map<String, Object>> facts = new ArrayList<>();
        changed.forEach((server, rows) -> {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("server", server);
            one.put("changedRows", rows);
            facts.add(one);
        });
        return facts;
    }

    static String text(Map<String, Long> changed) {
        StringBuilder text = new StringBuilder();
        changed.forEach((server, rows) ->
                text.append("%s follows the home; %s changed\n".formatted(server, Plural.of(rows, "row"))));
        return text.toString();
    }
}
