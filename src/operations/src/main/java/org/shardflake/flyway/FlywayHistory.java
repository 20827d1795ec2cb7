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
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;

/** Compares the migrations that a shard has had with those of a directory, as Flyway does before it migrates. */
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
     * Why a shard cannot be given these migrations.
     *
     * @param had checksums of what it has had, by keys as in its history; other changesets are ignored
     */
    public static List<Problem> problems(
            Map<String, @Nullable String> had, List<FlywayMigration> migrations, FlywayOrder order) {
        return new FlywayHistory(migrations, order).problems(had);
    }

    private List<Problem> problems(Map<String, @Nullable String> had) {
        List<Problem> problems = new ArrayList<>();
        TreeMap<FlywayVersion, String> applied = new TreeMap<>();
        had.keySet().stream().filter(key -> key.startsWith(PREFIX)).sorted().forEach(key -> {
            int separator = key.indexOf("::", PREFIX.length());
            String id = key.substring(PREFIX.length(), separator);
            String description = key.substring(separator + 2);
            Optional<FlywayVersion> version = FlywayVersion.parse(id);
            if (version.isPresent()) {
                applied.put(version.get(), description);
                compare(version.get(), description, had.get(key)).ifPresent(problems::add);
            } else if (!repeatable.containsKey(description)) {
                problems.add(new Problem("Detected applied migration not resolved locally: " + description, MISSING));
            }
        });
        versioned.forEach((version, migration) -> {
            if (order == FlywayOrder.STRICT
                    && !applied.isEmpty()
                    && !applied.containsKey(version)
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

    /** Compares a migration that a shard has had. A later one than all of the directory's may be missing, since an older release may deploy. */
    private Optional<Problem> compare(FlywayVersion version, String description, @Nullable String checksum) {
        @Nullable FlywayMigration migration = versioned.get(version);
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

    private static Problem mismatch(String what, FlywayMigration migration, String applied, String resolved) {
        return new Problem(
                "Migration %s mismatch for migration version %s\n-> Applied to database : %s\n-> Resolved locally    : %s"
                        .formatted(what, migration.version(), applied, resolved),
                EDITED);
    }
}
