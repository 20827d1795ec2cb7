/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.cdc;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.shardflake.changes.ChangeStreamStatus;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.jdbc.Plural;

/** Shows the change stream. */
final class CdcView {

    private CdcView() {}

    static Map<String, Object> facts(ChangeStreamStatus status) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("server", status.server());
        facts.put("published", status.isThere());
        facts.put("current", status.isCurrent());
        facts.put("tables", status.tables());
        facts.put("missing", status.missing());
        facts.put("surplus", status.surplus());
        facts.put("readers", status.readers().stream().map(CdcView::facts).toList());
        return facts;
    }

    private static Map<String, Object> facts(ChangeStreamStatus.Reader reader) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("slot", reader.slot());
        facts.put("active", reader.isActive());
        facts.put("lost", reader.isLost());
        facts.put("keptBytes", reader.keptBytes());
        return facts;
    }

    static String table(List<ChangeStreamStatus> all) {
        TableWriter table = new TableWriter("SERVER", "TABLES", "STATE", "READERS").mayLeaveOut("READERS");
        for (ChangeStreamStatus status : all) {
            String readers = status.readers().stream()
                    .map(reader ->
                            reader.slot() + (reader.isLost() ? " (lost)" : reader.isActive() ? " (connected)" : ""))
                    .collect(Collectors.joining(", "));
            table.row(status.server(), status.tables(), state(status), readers);
        }
        return table.toString();
    }

    private static String state(ChangeStreamStatus status) {
        if (!status.isThere()) {
            return "not published";
        }
        if (status.isCurrent()) {
            return "as the map has it";
        }
        if (status.missing().isEmpty()) {
            return "%s too many: %s"
                    .formatted(
                            Plural.of(status.surplus().size(), "table"),
                            status.surplus().get(0));
        }
        return "%s missing: %s"
                .formatted(
                        Plural.of(status.missing().size(), "table"),
                        status.missing().get(0));
    }
}
