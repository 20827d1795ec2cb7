/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.PROBLEM;
import static org.shardflake.doctor.Severity.WARNING;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/** Finds URLs for applications that do not lead to the server that has them. */
final class ApplicationUrlFindings {

    private static final String CHECK = "application-url";

    private ApplicationUrlFindings() {}

    /** @param urls by the name of the server */
    static List<Finding> of(ObservedState observed, Map<String, ServerUrl> urls) {
        List<Finding> findings = new ArrayList<>();
        observed.facts().forEach((server, facts) -> {
            ServerUrl url = urls.get(server);
            if (url != null) {
                find(server, facts, url).ifPresent(findings::add);
            }
        });
        return findings;
    }

    /** Checks one server's URL for applications; only reads, so a pooler is good enough. */
    private static Optional<Finding> find(String server, ServerFacts facts, ServerUrl url) {
        try (Connection connection = url.toRead(() -> {}).connect("shardflake doctor")) {
            boolean isCopy = ServerFacts.identity(connection).equals(facts.identity());
            if (isCopy
                    && (ServerFacts.started(connection).equals(facts.started()) || ServerUrl.isStandby(connection))) {
                return Optional.empty();
            }
            return Optional.of(Finding.of(
                    PROBLEM,
                    server,
                    CHECK,
                    "has %s as its URL for applications, which leads to %s"
                            .formatted(
                                    url,
                                    isCopy
                                            ? "a copy of its database, as of a server that was split, or one that failed over just now"
                                            : "another database"),
                    Advice.of("%s", CliCommand.SERVER_CHANGE_APPLICATION.with(server))));
        } catch (SQLException e) {
            return Optional.of(Finding.of(
                    WARNING,
                    server,
                    CHECK,
                    "has %s as its URL for applications, where this user cannot look: %s"
                            .formatted(url, Sql.message(e)),
                    "nothing, if only applications may log in there; otherwise check that the pooler runs"));
        }
    }
}
