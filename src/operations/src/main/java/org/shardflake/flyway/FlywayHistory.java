/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.flyway;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;

/** Compares the migrations in a shard's history with those of a directory, as Flyway does before it migrates. */
public final class FlywayHistory {

    /**
     * A reason why Flyway would not migrate.
     *
     * @param what the problem, in Flyway's words
     */
    public record Problem(String what, Advice advice) {}

    private static final Advice EDITED = Advice.of("write a new migration instead, or undo the edit");
    private static final Advice MISSING =
            Advice.of("put its file back: what a shard has had belongs to how it is made on another server");

    private static final Advice MISSING_THERE = Advice.of(
            "put its file back; if it is about a table that stays outside of the shards, remove its line from the file of the history");
    private static final Advice FAILED = Advice.of(
            "remove any half-completed changes from the old database, run Flyway's repair there, and plan again");
    private static final Advice HAS_SOME =
            Advice.of("leave the history out: what it has and the shard lacks is deployed from its files");
    private static final Advice NO_TABLES =
            Advice.of("deploy the planned changelog to it first: %s", CliCommand.SCHEMA_DEPLOY);

    /** The end of the key of each changeset that a plan contains: its author. */
    private static final String PLANNED = "::adopt";

    private static final String PREFIX = FlywayMigration.PATH + "::";

    private final Map<FlywayVersion, FlywayMigration> versioned = new TreeMap<>();
    private final Map<String, FlywayMigration> repeatable = new LinkedHashMap<>();
    private final FlywayOrder order;

    private FlywayHistory(List<FlywayMigration> migrations, FlywayOrder order) {
        this.order = order;
        for (FlywayMigration migration : migrations) {
            if (migration.isRepeatable()) {
                repeatable.put(migration.description(), migration);
            } else {
                versioned.put(FlywayDirectory.version(migration), migration);
            }
        }
    }

    /**
     * The problems that keep a shard from getting these migrations.
     *
     * @param had checksums of what it has had, by keys as in its history; other changesets are ignored
     */
    public static List<Problem> problems(
            Map<String, @Nullable String> had, List<FlywayMigration> migrations, FlywayOrder order) {
        return new FlywayHistory(migrations, order).problems(had, had.keySet());
    }

    /** The problems that keep a shard from taking over the history of an old database and getting the remaining migrations. */
    public static List<Problem> problems(
            Map<String, @Nullable String> had,
            AppliedMigrations applied,
            List<FlywayMigration> migrations,
            FlywayOrder order) {
        List<Problem> problems = new ArrayList<>();
        applied.failed().forEach(what -> problems.add(new Problem(what, FAILED)));
        Map<String, @Nullable String> all = new LinkedHashMap<>(applied.checksums());
        all.putAll(had);
        problems.addAll(new FlywayHistory(migrations, order).problems(all, had.keySet()));
        if (had.keySet().containsAll(keys(applied))) {
            return problems;
        }
        if (had.keySet().stream().anyMatch(FlywayMigration::isKey)) {
            problems.add(0, new Problem("it has had other migrations, so it cannot take over this history", HAS_SOME));
        } else if (had.keySet().stream().noneMatch(key -> key.endsWith(PLANNED))) {
            problems.add(0, new Problem("it has none of the tables that this history is about", NO_TABLES));
        }
        return problems;
    }

    private static List<String> keys(AppliedMigrations applied) {
        return applied.taken().stream().map(FlywayMigration::key).toList();
    }

    /** Whether a version is at or below the baseline in a shard's history. */
    public static boolean isBelowBaseline(Map<String, @Nullable String> had, String id) {
        Optional<FlywayVersion> version = FlywayVersion.parse(id);
        return version.isPresent()
                && baseline(had)
                        .filter(its -> version.get().compareTo(its) <= 0)
                        .isPresent();
    }

    private static Optional<FlywayVersion> baseline(Map<String, @Nullable String> had) {
        return had.entrySet().stream()
                .filter(line ->
                        FlywayMigration.isKey(line.getKey()) && FlywayMigration.BASELINE.equals(line.getValue()))
                .flatMap(line -> FlywayVersion.parse(id(line.getKey())).stream())
                .max(Comparator.naturalOrder());
    }

    private static String id(String key) {
        return key.substring(PREFIX.length(), key.indexOf("::", PREFIX.length()));
    }

    /** @param own keys of what the shard itself has had */
    private List<Problem> problems(Map<String, @Nullable String> had, Set<String> own) {
        List<Problem> problems = new ArrayList<>();
        Optional<FlywayVersion> baseline = baseline(had);
        TreeMap<FlywayVersion, String> applied = new TreeMap<>();
        had.keySet().stream().filter(key -> key.startsWith(PREFIX)).sorted().forEach(key -> {
            String id = id(key);
            String description = key.substring(PREFIX.length() + id.length() + 2);
            Optional<FlywayVersion> version = FlywayVersion.parse(id);
            if (version.isPresent()) {
                applied.put(version.get(), description);
                compare(version.get(), description, had.get(key)).ifPresent(problems::add);
            } else if (!repeatable.containsKey(description) && !isProgram(had.get(key))) {
                problems.add(new Problem(
                        "Detected applied migration not resolved locally: " + description,
                        own.contains(key) ? MISSING : MISSING_THERE));
            }
        });
        versioned.forEach((version, migration) -> {
            if (order == FlywayOrder.STRICT
                    && !applied.isEmpty()
                    && !applied.containsKey(version)
                    && baseline.filter(its -> version.compareTo(its) <= 0).isEmpty()
                    && version.compareTo(applied.lastKey()) < 0) {
                problems.add(new Problem(
                        "Detected resolved migration not applied to database: " + migration.version(),
                        Advice.of(
                                "give it a version after %s, or deploy it out of order: %s",
                                applied.lastKey().toString(), CliCommand.SCHEMA_DEPLOY_OUT_OF_ORDER)));
            }
        });
        return problems;
    }

    /**
     * Compares a recorded migration with the directory's. A later one than all of the directory's may be missing, since an older release may
     * deploy.
     */
    private Optional<Problem> compare(FlywayVersion version, String description, @Nullable String checksum) {
        @Nullable FlywayMigration migration = versioned.get(version);
        if (FlywayMigration.BASELINE.equals(checksum)) {
            return Optional.empty();
        }
        if (checksum != null && isProgram(checksum)) {
            return migration == null
                    ? Optional.empty()
                    : Optional.of(
                            mismatch("type", migration, checksum.substring(FlywayMigration.PROGRAM.length()), "SQL"));
        }
        if (migration == null) {
            boolean isLater = versioned.keySet().stream()
                    .max(Comparator.naturalOrder())
                    .filter(last -> last.compareTo(version) > 0)
                    .isEmpty();
            return isLater
                    ? Optional.empty()
                    : Optional.of(new Problem("Detected applied migration not resolved locally: " + version, MISSING));
        }
        String before = checksum == null ? "" : FlywayMigration.number(checksum);
        String now = FlywayMigration.number(migration.checksum());
        if (!before.isEmpty() && !before.equals(now)) {
            return Optional.of(mismatch("checksum", migration, before, now));
        }
        return description.equals(migration.description())
                ? Optional.empty()
                : Optional.of(mismatch("description", migration, description, migration.description()));
    }

    /** Whether a checksum is of a migration that is code and not a file of SQL. */
    private static boolean isProgram(@Nullable String checksum) {
        return checksum != null && checksum.startsWith(FlywayMigration.PROGRAM);
    }

    private static Problem mismatch(String what, FlywayMigration migration, String applied, String resolved) {
        return new Problem(
                "Migration %s mismatch for migration version %s\n-> Applied to database : %s\n-> Resolved locally    : %s"
                        .formatted(what, migration.version(), applied, resolved),
                EDITED);
    }
}
