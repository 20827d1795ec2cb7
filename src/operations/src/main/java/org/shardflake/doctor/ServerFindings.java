/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.PROBLEM;
import static org.shardflake.doctor.Severity.WARNING;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.doctor.ServerFacts.IdSequence;
import org.shardflake.jdbc.Plural;
import org.shardflake.sql.FunctionLibrary;

/** Checks whether servers are what their URLs promise, and whether they are set up for ids and moves. */
final class ServerFindings {

    private static final long CLOCKS_APART_MILLIS = 1000;

    private final ObservedState observed;
    private final DoctorConnections access;
    private final List<Finding> findings = new ArrayList<>();

    private ServerFindings(ObservedState observed, DoctorConnections access) {
        this.observed = observed;
        this.access = access;
    }

    static List<Finding> of(ObservedState observed, DoctorConnections access) {
        ServerFindings servers = new ServerFindings(observed, access);
        servers.sameDatabase();
        servers.clocks();
        observed.facts().forEach((server, facts) -> {
            servers.server(server, facts);
            servers.library(server, facts);
            servers.sequences(server, facts);
            servers.memory(server, facts);
        });
        return servers.findings;
    }

    private void sameDatabase() {
        Map<String, String> seen = new HashMap<>();
        observed.facts().forEach((server, facts) -> {
            String other = seen.putIfAbsent(facts.identity() + facts.started(), server);
            if (other != null) {
                findings.add(Finding.of(
                        PROBLEM,
                        server,
                        "same-database",
                        "is the same database as %s".formatted(other),
                        Advice.of("change the URL of one of them with %s", CliCommand.SERVER_CHANGE)));
            }
        });
    }

    /** Compares the servers' clocks with this machine's, so that a single wrong clock is named instead of all the others. */
    private void clocks() {
        observed.facts().forEach((server, facts) -> {
            long apart = Math.max(0, Math.abs(facts.clockMillis()) - facts.clockDoubtMillis());
            if (apart > CLOCKS_APART_MILLIS) {
                findings.add(
                        Finding.of(
                                WARNING,
                                server,
                                "clock",
                                "the clock is %s %s this machine's"
                                        .formatted(
                                                seconds(Math.abs(facts.clockMillis())),
                                                facts.clockMillis() > 0 ? "ahead of" : "behind"),
                                "synchronize the clocks of all servers; ids stay unique and increasing in any case, but tell another time"));
            }
        });
    }

    private static String seconds(long millis) {
        return String.format(Locale.ROOT, "%,.1f s", millis / 1000.0);
    }

    private void server(String server, ServerFacts facts) {
        if (facts.version() < 15) {
            findings.add(Finding.of(
                    PROBLEM,
                    server,
                    "server-version",
                    "has PostgreSQL %s".formatted(facts.version()),
                    "upgrade it to 15 or later"));
        }
        facts.limits()
                .forEach(limit -> findings.add(Finding.of(
                        WARNING, server, limit.name(), limit.found(), Advice.of("before a move: %s", limit.remedy()))));
    }

    private void library(String server, ServerFacts facts) {
        long epoch = observed.map().layout().epochMillis();
        if (facts.epochMillis() < 0) {
            findings.add(Finding.of(
                            PROBLEM,
                            server,
                            "function-library",
                            "has no function library",
                            Advice.of("deploy it with %s, or with %s", CliCommand.DOCTOR_FIX, CliCommand.SCHEMA_DEPLOY))
                    .with(() -> access.onServer(server, connection -> FunctionLibrary.deploy(connection, epoch))));
        } else if (facts.epochMillis() != epoch) {
            findings.add(Finding.of(
                    PROBLEM,
                    server,
                    "epoch",
                    "makes ids with epoch %s, and the shard map has %s".formatted(facts.epochMillis(), epoch),
                    "a server keeps its epoch for good, so this one belongs to another installation"));
        } else if (facts.libraryVersion() > FunctionLibrary.version()) {
            findings.add(Finding.of(
                    WARNING,
                    server,
                    "function-library",
                    "has version %s of the function library, and this command knows version %s"
                            .formatted(facts.libraryVersion(), FunctionLibrary.version()),
                    "use the newer shardflake that deployed it; this one leaves it as it is"));
        } else if (facts.libraryIsCurrent() && facts.installation().isEmpty() && othersRemember()) {
            findings.add(Finding.of(
                    WARNING,
                    server,
                    "installation-unknown",
                    "does not remember to which installation it belongs, so another could take it for its own",
                    Advice.of(
                            "%s makes it remember, unless it has shards that the map gives to others: fix these first",
                            CliCommand.UPGRADE)));
        } else if (!facts.libraryIsCurrent()) {
            findings.add(Finding.of(
                            WARNING,
                            server,
                            "function-library",
                            "has a function library of another version",
                            Advice.of(
                                    "bring it up to date with %s, or with %s",
                                    CliCommand.DOCTOR_FIX, CliCommand.UPGRADE))
                    .with(() -> access.onServer(server, connection -> FunctionLibrary.deploy(connection, epoch))));
        }
    }

    /**
     * Whether other servers remember the installation; if none does, it was created by an older version or without commands, and the next
     * command records it.
     */
    private boolean othersRemember() {
        return observed.facts().values().stream()
                .anyMatch(facts -> facts.installation().isPresent());
    }

    private void memory(String server, ServerFacts facts) {
        boolean isPooled = observed.map().server(server).applicationUrl().isPresent();
        long bytes = facts.sessions().bytes(isPooled);
        if (bytes > facts.memory().bytes() / 2) {
            findings.add(
                    Finding.of(
                            WARNING,
                            server,
                            "session-memory",
                            "%s of shards and %s may come to take %s of memory, more than half of the server's %s%s"
                                    .formatted(
                                            Plural.of(facts.sessions().tables(), "table"),
                                            Plural.of(facts.sessions().sessions(), "session"),
                                            gigabytes(bytes),
                                            gigabytes(facts.memory().bytes()),
                                            facts.memory().isRead()
                                                    ? ""
                                                    : " (as its settings suggest; this role may not read it)"),
                            "fewer shards or tables on the server, fewer application instances, or more memory; the guide says how to choose, under How many"));
        }
    }

    private static String gigabytes(long bytes) {
        return String.format(Locale.ROOT, "%,.1f GB", bytes / 1e9);
    }

    private void sequences(String server, ServerFacts facts) {
        List<IdSequence> ahead = facts.sequences().stream()
                .filter(sequence -> sequence.aheadMillis() > 1000)
                .sorted(Comparator.comparing(IdSequence::aheadMillis).reversed())
                .toList();
        if (!ahead.isEmpty()) {
            findings.add(
                    Finding.of(
                            WARNING,
                            server,
                            "sequence-ahead",
                            "%s ahead of the clock; the furthest is %s, by %s"
                                    .formatted(
                                            ahead.size() == 1
                                                    ? "1 sequence of ids is"
                                                    : ahead.size() + " sequences of ids are",
                                            ahead.get(0).name(),
                                            ahead(ahead.get(0).aheadMillis())),
                            "nothing, if the clock was set back: ids keep increasing, and carry future times until the clock has caught up"));
        }
        List<String> wrong = facts.sequences().stream()
                .filter(IdSequence::isWrong)
                .map(IdSequence::name)
                .sorted()
                .toList();
        if (!wrong.isEmpty()) {
            findings.add(Finding.of(
                    PROBLEM,
                    server,
                    "sequence-settings",
                    "has %s of ids with another INCREMENT, CACHE or CYCLE than the library gives, such as %s"
                            .formatted(Plural.of(wrong.size(), "sequence"), wrong.get(0)),
                    "ALTER SEQUENCE %s INCREMENT 1 CACHE 1 NO CYCLE; see then whether ids were made twice"
                            .formatted(wrong.get(0))));
        }
    }

    private static String ahead(long millis) {
        Duration ahead = Duration.ofMillis(millis);
        return ahead.toMinutes() < 2
                ? ahead.toSeconds() + " s"
                : String.format(Locale.ROOT, "%,d min", ahead.toMinutes());
    }
}
