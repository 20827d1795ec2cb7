/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.doctor;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.doctor.DoctorException;
import org.shardflake.doctor.Finding;
import org.shardflake.doctor.Severity;
import org.shardflake.jdbc.ServerRefusalException;

/** Shows the doctor's findings and their outcome. */
public final class DoctorView {

    private final List<Finding> findings;
    private final List<Finding> fixed = new ArrayList<>();

    public DoctorView(List<Finding> findings) {
        this.findings = findings;
    }

    /** Fixes what can be fixed safely; failures are reported, and their findings remain. */
    void fix(PrintWriter err) {
        for (Finding finding : findings) {
            if (finding.isFixable()) {
                try {
                    finding.fix();
                    fixed.add(finding);
                } catch (ServerRefusalException | DoctorException e) {
                    err.printf("could not fix %s of %s: %s%n", finding.check(), finding.server(), e.getMessage());
                }
            }
        }
    }

    public boolean hasProblems() {
        return findings.stream()
                .anyMatch(finding -> finding.severity() == Severity.PROBLEM && !fixed.contains(finding));
    }

    public List<Map<String, Object>> facts() {
        return findings.stream()
                .map(finding -> facts(finding, fixed.contains(finding)))
                .toList();
    }

    public static Map<String, Object> facts(Finding finding, boolean isFixed) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("severity", finding.severity().toString());
        facts.put("server", finding.server());
        facts.put("check", finding.check());
        facts.put("found", finding.found());
        facts.put("remedy", finding.remedy().toString());
        facts.put("fixable", finding.isFixable());
        facts.put("fixed", isFixed);
        return facts;
    }

    public String text() {
        TableWriter table = new TableWriter("SEVERITY", "SERVER", "CHECK", "FOUND");
        StringBuilder remedies = new StringBuilder();
        for (Finding finding : findings) {
            boolean mended = fixed.contains(finding);
            table.row(mended ? "fixed" : finding.severity(), finding.server(), finding.check(), finding.found());
            if (!mended) {
                remedies.append("%n%s of %s: %s".formatted(finding.check(), finding.server(), finding.remedy()));
            }
        }
        return table.toString() + remedies;
    }
}
