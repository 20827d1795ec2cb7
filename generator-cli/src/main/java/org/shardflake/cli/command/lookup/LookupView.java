/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.lookup;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.shardflake.CliCommand;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.catalog.LookupDefinition.State;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.jdbc.Plural;
import org.shardflake.lookup.BackfillReport;
import org.shardflake.lookup.LookupCheck;
import org.shardflake.lookup.LookupStatus;

/** Shows lookups, and the results of commands on them. */
final class LookupView {

    private LookupView() {}

    static Map<String, Object> facts(LookupDefinition lookup) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("name", lookup.name());
        facts.put("unique", lookup.unique());
        facts.put("ignoreCase", lookup.ignoresCase());
        facts.put("hashed", lookup.hashed());
        lookup.source().ifPresent(source -> {
            facts.put("table", source.table());
            facts.put("column", source.column());
        });
        facts.put("state", lookup.state().toString());
        return facts;
    }

    static String created(LookupDefinition lookup) {
        return lookup.state() == State.READY
                ? "lookup %s is there".formatted(lookup.name())
                : "lookup %s is there; let the application claim values, then run %s"
                        .formatted(lookup.name(), CliCommand.LOOKUP_BACKFILL.with(lookup.name()));
    }

    static List<Map<String, Object>> facts(List<LookupStatus> lookups) {
        return lookups.stream()
                .map(status -> {
                    Map<String, Object> facts = facts(status.lookup());
                    facts.put("shards", status.shards());
                    facts.put("filledShards", status.filledShards());
                    facts.put("claimed", status.claimed());
                    facts.put("refused", status.refused());
                    return facts;
                })
                .toList();
    }

    static String table(List<LookupStatus> lookups) {
        if (lookups.isEmpty()) {
            return "no lookups";
        }
        TableWriter table = new TableWriter("NAME", "VALUES", "SOURCE", "STATE", "BACKFILLED").mayLeaveOut("SOURCE");
        for (LookupStatus status : lookups) {
            LookupDefinition lookup = status.lookup();
            table.row(
                    lookup.name(),
                    kind(lookup),
                    lookup.source()
                            .map(source -> source.table() + "." + source.column())
                            .orElse(""),
                    lookup.state(),
                    lookup.source().isEmpty() ? "" : backfilled(status));
        }
        return table.toString();
    }

    private static String kind(LookupDefinition lookup) {
        return (lookup.unique() ? "unique" : "shared")
                + (lookup.ignoresCase() ? ", any case" : "")
                + (lookup.hashed() ? ", hashed" : "");
    }

    private static String backfilled(LookupStatus status) {
        return String.format(
                Locale.ROOT,
                "%,d of %s, %s%s",
                status.filledShards(),
                Plural.of(status.shards(), "shard"),
                Plural.of(status.claimed(), "row"),
                status.refused() == 0 ? "" : String.format(Locale.ROOT, ", %,d refused", status.refused()));
    }

    static Map<String, Object> facts(String name, BackfillReport report) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("name", name);
        facts.put("claimed", report.claimed());
        facts.put("refused", report.refused());
        facts.put("reasons", report.reasons());
        return facts;
    }

    static String text(String name, BackfillReport report) {
        StringBuilder text = new StringBuilder(
                report.isComplete()
                        ? "%s can be found by %s".formatted(Plural.of(report.claimed(), "row"), name)
                        : String.format(
                                Locale.ROOT,
                                "lookup %s has %s; %,d refused",
                                name,
                                Plural.of(report.claimed(), "row"),
                                report.refused()));
        report.reasons().forEach(reason -> text.append('\n').append(reason));
        return text.toString();
    }

    static Map<String, Object> facts(String name, LookupCheck check) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("name", name);
        facts.put("held", check.held());
        facts.put("leftOver", check.leftOver());
        facts.put("differing", check.differing());
        facts.put("differences", check.differences());
        check.failure().ifPresent(failure -> facts.put("failure", failure));
        return facts;
    }

    static String text(String name, LookupCheck check) {
        StringBuilder text = new StringBuilder(
                check.differing() == 0
                        ? "lookup %s agrees with its rows: %s".formatted(name, Plural.of(check.held(), "value"))
                        : String.format(
                                Locale.ROOT,
                                "lookup %s has %s, and %s%s%s",
                                name,
                                Plural.of(check.held(), "value"),
                                check.failure().isPresent() ? "at least " : "",
                                Plural.of(check.differing(), "difference"),
                                check.differing() == check.differences().size()
                                        ? ""
                                        : String.format(
                                                Locale.ROOT,
                                                "; named here: %,d",
                                                check.differences().size())));
        if (check.leftOver() > 0) {
            text.append("; %s without a row".formatted(Plural.of(check.leftOver(), "claim")));
        }
        check.differences().forEach(difference -> text.append('\n').append(difference));
        return text.toString();
    }
}
