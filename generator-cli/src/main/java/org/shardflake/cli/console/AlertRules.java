/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.doctor.Severity;

/**
 * The severities and thresholds of the Prometheus alerts. The build copies them from {@code src/monitoring/alerts.yaml}. The console calls
 * the alert {@code ShardflakeClockWrong} {@code clock-wrong}.
 */
final class AlertRules {

    private static final Pattern RULE =
            Pattern.compile("alert: Shardflake(\\w+)\\s+expr: '(.+)'\\s+(?:for: \\w+\\s+)?labels:\\s+severity: (\\w+)");
    private static final Pattern LIMIT = Pattern.compile(" > ([0-9.]+)");

    private final Map<String, MatchResult> rules = new HashMap<>();

    private AlertRules(String yaml) {
        Matcher rule = RULE.matcher(yaml);
        while (rule.find()) {
            rules.put(rule.group(1).replaceAll("(?<=.)([A-Z])", "-$1").toLowerCase(Locale.ROOT), rule.toMatchResult());
        }
    }

    static AlertRules load() {
        return load("alerts.yaml");
    }

    static AlertRules load(String resource) {
        try (InputStream file = AlertRules.class.getResourceAsStream(resource)) {
            if (file == null) {
                throw new CliException(
                        Kind.FAILURE,
                        "this build of shardflake lacks %s, which has the limits of the console's alerts"
                                .formatted(resource),
                        "build it with ./mvnw, which copies the file from src/monitoring");
            }
            return new AlertRules(new String(file.readAllBytes(), UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Severity severity(String check) {
        return rule(check).group(3).equals("critical") ? Severity.PROBLEM : Severity.WARNING;
    }

    /** The threshold above which the alert fires, in the unit of the metric. */
    double limit(String check) {
        Matcher limit = LIMIT.matcher(rule(check).group(2));
        if (!limit.find()) {
            throw new IllegalStateException("the alert of %s has no limit".formatted(check));
        }
        return Double.parseDouble(limit.group(1));
    }

    private MatchResult rule(String check) {
        return Objects.requireNonNull(rules.get(check), check);
    }
}
