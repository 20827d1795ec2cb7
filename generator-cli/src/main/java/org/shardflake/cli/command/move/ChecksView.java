/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.preflight.PreflightCheck;
import org.shardflake.preflight.PreflightCheck.Outcome;

/** Shows the checks before a move or a split as facts and as a table. */
public final class ChecksView {

    private ChecksView() {}

    public static List<Map<String, Object>> facts(List<PreflightCheck> checks) {
        return checks.stream().map(ChecksView::facts).toList();
    }

    private static Map<String, Object> facts(PreflightCheck check) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("check", check.name());
        facts.put("outcome", check.outcome().toString());
        facts.put("found", check.found());
        facts.put("remedy", check.remedy().toString());
        return facts;
    }

    /** Warns of a check that does not prevent a move or a split, with its remedy. */
    public static void warn(PrintWriter err, PreflightCheck check) {
        err.printf("warning: %s: %s%n", check.name(), check.found());
        if (!check.remedy().isEmpty()) {
            err.printf("hint: %s%n", check.remedy());
        }
    }

    /** Lists all checks, with the remedies of those that did not pass. */
    public static String text(List<PreflightCheck> checks) {
        TableWriter table = new TableWriter("CHECK", "OUTCOME", "FOUND");
        StringBuilder remedies = new StringBuilder();
        for (PreflightCheck check : checks) {
            table.row(check.name(), check.outcome(), check.found());
            if (check.outcome() != Outcome.OK && !check.remedy().isEmpty()) {
                remedies.append("%n%s: %s".formatted(check.name(), check.remedy()));
            }
        }
        return table.toString() + remedies;
    }
}
