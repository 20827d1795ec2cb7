/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.flyway.FlywayHistory;
import org.shardflake.flyway.FlywayMigration;

/**
 * A changeset as the SQL that deploys it to a shard.
 *
 * <p>Table names in it are unqualified, or qualified by {@link #TEMPLATE_SCHEMA}, which stands for the shard's schema.
 *
 * @param path its changelog file, or what Flyway's migrations have in its place
 * @param files where its text may be, as paths below the search path
 * @param checksum Liquibase's or Flyway's, the same for all shards
 * @param sql its statements
 * @param rollbackSql the statements that undo it; none if it cannot be undone
 * @param inTransaction whether it can share a transaction with others; false for CREATE INDEX CONCURRENTLY, for example
 * @param runOnChange whether it runs again when its checksum changes
 * @param runAlways whether it runs at every deployment
 * @param hasPreconditions whether Liquibase must be asked on each shard
 * @param lasts whether it may leave something in its session, such as a setting, that the next shard must not see
 * @param refusal why it cannot be deployed to shards, as the predicate of a sentence about it
 * @param later where its SQL will be once a shard has the tables that it depends on; until then {@code sql} says so, as comments
 * @param validChecksums other checksums under which it counts as unchanged
 * @param tag the name that it gives to the state it leads to
 * @param messages what it says when it runs
 */
record ShardChangeSet(
        String id,
        String author,
        String path,
        List<String> files,
        String checksum,
        String description,
        List<String> sql,
        Optional<List<String>> rollbackSql,
        boolean inTransaction,
        boolean runOnChange,
        boolean runAlways,
        boolean hasPreconditions,
        boolean lasts,
        Optional<String> refusal,
        Optional<LaterSql> later,
        Set<String> validChecksums,
        Optional<String> tag,
        List<String> messages) {

    /** Liquibase's default schema, and the value of {@code ${shard.schema}}. */
    static final String TEMPLATE_SCHEMA = "shardflake_template_shard";

    /** The validCheckSum with which Liquibase accepts any earlier version of a changeset. */
    private static final String ANY = "1:any";

    @Override
    public List<String> sql() {
        return later.flatMap(LaterSql::made).orElse(sql);
    }

    /** Whether the changeset is one of Flyway's migrations, which {@link FlywayHistory} compares with those that a shard has had. */
    boolean isFlyway() {
        return path.equals(FlywayMigration.PATH);
    }

    /** Whether the changeset is only recorded in the history, since the shard's tables were planned after a database that already had it. */
    boolean isTakenOver() {
        return isFlyway() && FlywayMigration.isTakenOver(checksum);
    }

    /** Whether the changeset's SQL is known. */
    boolean isMade() {
        return later.isEmpty() || later.get().made().isPresent();
    }

    /** Whether the changeset's effect is the same before and after earlier tables are {@link #completion complete}. */
    boolean isPlain() {
        return isMade() && sql().stream().allMatch(SqlEffects::isPlain);
    }

    /** Whether the changeset creates no table that would have to be completed. */
    boolean leavesTables() {
        return isMade() && sql().stream().allMatch(SqlEffects::leavesTables);
    }

    /**
     * SQL to run before changesets that are not plain: it completes tables as an earlier deployment would have, so that the result does not
     * depend on whether changesets are deployed one by one or together. Tables without a primary key may still get one.
     *
     * @param what {@code all}, or {@code ids} alone
     */
    static Optional<String> completion(List<String> sql, String what) {
        if (sql.stream().allMatch(SqlEffects::isPlain)) {
            return Optional.empty();
        }
        return Optional.of(
                "SET LOCAL shardflake.meanwhile = '%s'; SELECT shardflake.complete_tables(pg_catalog.right('%s', 4)::pg_catalog.int4); SET LOCAL shardflake.meanwhile = ''"
                        .formatted(sql.stream().anyMatch(SqlEffects::changesChecks) ? "all" : what, TEMPLATE_SCHEMA));
    }

    /**
     * The {@link #completion(List, String) completion} that the changeset's SQL needs; a changeset whose SQL is not known yet counts as writing rows.
     *
     * @param what {@code all}, or {@code ids} alone
     */
    Optional<String> completion(String what) {
        return completion(isMade() ? sql() : List.of("INSERT"), what);
    }

    /** Whether the changeset adds a check under a name that completion uses, which must therefore come later. */
    boolean addsChecks() {
        return sql().stream().anyMatch(SqlEffects::addsChecks);
    }

    /** Whether a different changeset was deployed under this name, judging by its checksum. */
    boolean isEditedSince(@Nullable String before) {
        // Checksums of another version of Liquibase's formula (the part before the colon) cannot be compared.
        int version = checksum.indexOf(':') + 1;
        return before != null
                && before.startsWith(checksum.substring(0, version))
                && !ofText(before).equals(ofText(checksum))
                && !validChecksums.contains(before)
                && !validChecksums.contains(ANY);
    }

    /** A checksum without the second part of Flyway's, which covers the values of placeholders. */
    private static String ofText(String checksum) {
        int second = checksum.indexOf(':', checksum.indexOf(':') + 1);
        return second < 0 ? checksum : checksum.substring(0, second);
    }

    /** Identifies a changeset in messages. */
    String key() {
        return path + "::" + id + "::" + author;
    }

    /** A statement's text for one shard. */
    static String forShard(String sql, String schema) {
        return sql.replace(TEMPLATE_SCHEMA, schema);
    }
}
