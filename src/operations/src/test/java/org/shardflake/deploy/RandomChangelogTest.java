/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.logging.Logger;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.FunctionLibrary;

/**
 * Changelogs made at random, by Liquibase's own command in one schema and by deployments in shards, in two steps: the same schema and the
 * same rows, or a refusal by name. Each shard's replay on another server is the same, too.
 *
 * <p>{@code -Dtests.seed} repeats a run, and {@code -Dtests.rounds} makes it longer.
 */
class RandomChangelogTest {

    private static final long SEED = Long.getLong("tests.seed", 5);
    private static final int ROUNDS = Integer.getInteger("tests.rounds", 3);
    private static final int CHANGESETS = 24;
    private static final Pattern ID = Pattern.compile("::(c\\d+)::" + RandomChangelog.AUTHOR);

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    static Path directory;

    private final Map<String, List<String>> refused = new TreeMap<>();
    private final List<String> findings = new ArrayList<>();
    private int shard;

    /** How a side went: the changeset that failed, and why; nothing if none did. */
    private record Outcome(Set<String> changeSets, String message, boolean isRefusal) {

        static final Outcome WELL = new Outcome(Set.of(), "", false);

        static Outcome of(Exception e, boolean isRefusal) {
            StringBuilder message = new StringBuilder();
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                message.append(cause.getMessage()).append('\n');
            }
            List<String> ids =
                    ID.matcher(message).results().map(match -> match.group(1)).toList();
            boolean isMany = message.indexOf("changesets cannot be deployed") >= 0
                    || message.indexOf("Validation Failed") >= 0
                    || message.indexOf("cannot all be") >= 0;
            return new Outcome(
                    new TreeSet<>(isMany || ids.isEmpty() ? ids : ids.subList(0, 1)), message.toString(), isRefusal);
        }
    }

    @Test
    @Tag("full")
    void aChangelogMeansInShardsWhatItMeansToLiquibase() throws Exception {
        System.out.println("random changelogs: -Dtests.seed=" + SEED);
        Logger log = Logger.getLogger("org.shardflake.sql.liquibase"); // Much fails here, on purpose.
        log.setUseParentHandlers(false);
        Random random = new Random(SEED);
        Set<String> used = new TreeSet<>();
        try (Connection plain = postgres.database(0).connect();
                Connection shards = postgres.database(1).connect();
                Connection target = postgres.database(2).connect()) {
            FunctionLibrary.deploy(plain, IdLayout.DEFAULT.epochMillis());
            FunctionLibrary.deploy(target, IdLayout.DEFAULT.epochMillis());
            for (int round = 0; round < ROUNDS; round++) {
                RandomChangelog changelog = new RandomChangelog(random, "round" + round);
                compare(changelog, "round" + round, plain, shards, target);
                used.addAll(changelog.used());
            }
        }
        refused.forEach((why, ids) -> System.out.println("refused %s times: %s".formatted(ids.size(), why)));
        System.out.println("types of changes: " + used.size());
        assertThat(findings).as("seed " + SEED).isEmpty();
    }

    private void compare(RandomChangelog changelog, String name, Connection plain, Connection shards, Connection target)
            throws Exception {
        Set<String> without = new TreeSet<>();
        int first = shard + 1;
        changelog.grow(CHANGESETS / 2);
        settle(changelog, name, without, plain, true);
        changelog.edit();
        changelog.grow(CHANGESETS / 2);
        settle(changelog, name, without, plain, false);
        if (shard < first) {
            return;
        }
        // Once more from the start, without what fails: in one step, and in two.
        ShardSet both = ShardSet.of(shard, shard + 1);
        for (int its : both.stream().toArray()) {
            same(
                    name,
                    "facts of shard " + its,
                    withoutComments(SchemaFacts.of(plain, shard)),
                    withoutComments(SchemaFacts.of(shards, its)));
            Map<String, List<String>> expected = PlainLiquibase.rows(plain, shard);
            Map<String, List<String>> actual = PlainLiquibase.rows(shards, its);
            same(name, "tables", List.copyOf(expected.keySet()), List.copyOf(actual.keySet()));
            expected.forEach((table, rows) -> same(
                    name,
                    "rows of " + table,
                    rows,
                    actual.getOrDefault(table, List.of()).stream().sorted().toList()));
        }
        ShardSchemaCopy copy = new ShardSchemaCopy(shards, target);
        Map<Integer, List<String>> rehearsed = copy.rehearse(both);
        if (!rehearsed.isEmpty()) {
            findings.add("%s: rehearsal: %s".formatted(name, rehearsed));
            return;
        }
        copy.create(both);
        for (int its : both.stream().toArray()) {
            same(name, "replay", unfenced(SchemaFacts.of(shards, its)), unfenced(SchemaFacts.of(target, its)));
        }
    }

    /** Liquibase strips comments from functions; a deployment keeps them. */
    private static List<String> withoutComments(List<String> facts) {
        return facts.stream()
                .map(fact ->
                        fact.replaceAll("-- kept|-- so|/\\* kept;? \\*/", "").replaceAll("\\s+", " "))
                .toList();
    }

    private static List<String> unfenced(List<String> facts) {
        return facts.stream()
                .filter(fact -> !fact.startsWith("trigger") || !fact.contains("shardflake"))
                .toList();
    }

    private void same(String name, String what, List<String> expected, List<String> actual) {
        List<String> missing = new ArrayList<>(expected.stream().sorted().toList());
        actual.forEach(missing::remove);
        List<String> more = new ArrayList<>(actual);
        expected.forEach(more::remove);
        if (!missing.isEmpty() || !more.isEmpty()) {
            findings.add("%s: %s\n  expected: %s\n  actual:   %s"
                    .formatted(
                            name, what, String.join("\n            ", missing), String.join("\n            ", more)));
        }
    }

    /** Deploys with both, and leaves out what fails, until nothing does. */
    private void settle(RandomChangelog changelog, String name, Set<String> without, Connection plain, boolean fresh)
            throws Exception {
        boolean again = fresh;
        for (int tries = 0; tries < 40; tries++) {
            if (again) {
                shard += 2;
                Sql.execute(
                        plain,
                        "DROP SCHEMA IF EXISTS history CASCADE; SELECT shardflake.create_shard(%s)".formatted(shard));
            }
            changelog.write(directory, without);
            Outcome ours = ours(name);
            if (ours.isRefusal() && !ours.changeSets().isEmpty()) {
                why(ours.message())
                        .forEach((id, why) -> refused.computeIfAbsent(why, w -> new ArrayList<>())
                                .add(name + " " + id));
                without.addAll(ours.changeSets());
                again = false; // Nothing was changed.
                continue;
            }
            Outcome its = plain(name, plain);
            if (ours.changeSets().isEmpty()
                    && its.changeSets().isEmpty()
                    && ours.message().isEmpty()
                    && its.message().isEmpty()) {
                return;
            }
            if (!ours.changeSets().equals(its.changeSets())) {
                findings.add("%s: ours: %s %s\n  Liquibase's: %s %s"
                        .formatted(name, ours.changeSets(), ours.message(), its.changeSets(), its.message()));
            } else {
                System.out.println("both fail: "
                        + its.message().lines().skip(1).findFirst().orElse("")
                        + its.message()
                                .lines()
                                .filter(line -> line.contains("ERROR") || line.contains("Failed SQL"))
                                .findFirst()
                                .orElse(""));
            }
            if (ours.changeSets().isEmpty() && its.changeSets().isEmpty()) {
                break;
            }
            without.addAll(ours.changeSets());
            without.addAll(its.changeSets());
            again = true;
        }
        findings.add(name + " does not settle");
    }

    private static Map<String, String> why(String message) {
        Map<String, String> why = new TreeMap<>();
        for (MatchResult line : Pattern.compile("(?m)changeset (\\S*::(c\\d+)::rnd) (.*)$")
                .matcher(message)
                .results()
                .toList()) {
            why.putIfAbsent(
                    line.group(2), line.group(3).replaceAll("\\([^)]*\\) ?", "").replaceAll("\\d+", "N"));
        }
        return why;
    }

    private Outcome ours(String name) throws InterruptedException {
        DeployTarget db =
                new DeployTarget("db1", ServerUrl.parse(postgres.database(1).uri()), ShardSet.of(shard, shard + 1));
        try (SchemaDeployer deployer = SchemaDeployer.prepare(
                directory.resolve(name + "/root.xml"),
                List.of(db),
                IdLayout.DEFAULT,
                LiquibaseDifferenceTest.settings(directory))) {
            DeployReport report = deployer.deploy(done -> {});
            return report.failures().isEmpty() && report.differing().isEmpty()
                    ? Outcome.WELL
                    : Outcome.of(new DeployException(report.toString()), false);
        } catch (DeployRefusedException e) {
            return Outcome.of(e, true);
        } catch (DeployException e) {
            return Outcome.of(e, false);
        }
    }

    private Outcome plain(String name, Connection plain) throws Exception {
        try {
            PlainLiquibase.update(
                    plain, shard, directory, name + "/root.xml", LiquibaseDifferenceTest.settings(directory));
            return Outcome.WELL;
        } catch (Exception e) {
            return Outcome.of(e, false);
        } finally {
            if (!plain.getAutoCommit()) {
                plain.rollback();
                plain.setAutoCommit(true);
            }
            Sql.execute(
                    plain,
                    "RESET ALL; SET search_path = public; SET shardflake.checks = off; SELECT shardflake.complete_tables(%s)"
                            .formatted(shard));
        }
    }
}
