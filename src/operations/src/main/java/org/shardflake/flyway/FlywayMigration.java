/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.flyway;

import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A Flyway migration: a versioned one, which runs once, or a repeatable one, which runs again when it has changed.
 *
 * @param id its version, the same for all ways to write it; {@link #REPEATABLE} if it has none
 * @param version its version as in the name of its file; empty if it is repeatable
 * @param description as in Flyway's history, with at most 200 characters
 * @param file its path below the directory
 * @param checksum Flyway's, after {@link #CHECKSUM}; behind another colon one of the SQL that placeholders have changed
 * @param otherChecksum the checksum of a repeatable migration whose placeholders are not filled in, which counts as equal
 * @param sql its statements
 * @param inTransaction whether Flyway would run them in a transaction
 * @param refusal why shards cannot have it, as the predicate of a sentence about it
 */
public record FlywayMigration(
        String id,
        String version,
        String description,
        String file,
        String checksum,
        Optional<String> otherChecksum,
        List<String> sql,
        boolean inTransaction,
        Optional<String> refusal) {

    /** The text that a shard's history has in place of a changelog's file. */
    public static final String PATH = "flyway";

    /** The id of a repeatable migration. */
    public static final String REPEATABLE = "R";

    /** The text before Flyway's checksum in a shard's history. */
    static final String CHECKSUM = "flyway:";

    /** The suffix of a checksum that was taken over from the history of an old database. */
    static final String TAKEN_OVER = ":taken-over";

    /** The text in place of a checksum that marks the baseline, up to which versions are ignored. */
    static final String BASELINE = "flyway:baseline";

    /** The text before the type of a migration that is not SQL, used in place of a checksum. */
    static final String PROGRAM = "flyway:program:";

    /** Whether a checksum in a history marks a migration that only the old database has run, not the shard. */
    public static boolean isTakenOver(@Nullable String checksum) {
        return checksum != null
                && (checksum.endsWith(TAKEN_OVER) || checksum.equals(BASELINE) || checksum.startsWith(PROGRAM));
    }

    /** Whether a key in a history is a migration's. */
    public static boolean isKey(String key) {
        return key.startsWith(PATH + "::");
    }

    /** Whether the migration runs again when it has changed. */
    public boolean isRepeatable() {
        return id.equals(REPEATABLE);
    }

    /** The migration's name in a shard's history. */
    public String key() {
        return PATH + "::" + id + "::" + description;
    }

    /** Flyway's checksum, extracted from the checksum in a shard's history. */
    static String number(String checksum) {
        return checksum.startsWith(CHECKSUM) ? checksum.split(":", -1)[1] : checksum;
    }
}
