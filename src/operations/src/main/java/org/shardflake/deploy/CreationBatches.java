/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Batches of shards created in one transaction, all schemas before the first table: each new schema makes PostgreSQL discard the
 * cached plans of functions.
 */
final class CreationBatches {

    /** The most shards created in one transaction: more are not faster, and all are undone together when one fails. */
    private static final int MOST_SHARDS = 10;

    /**
     * The most statements in one transaction, which leaves room in PostgreSQL's lock table (6,400 locks by default) for some connections, and for
     * statements that create many objects.
     */
    private static final int MOST_STATEMENTS = 100;

    /**
     * Statements with effects that last to the end of the transaction, and would reach the next shard. Not those that each shard takes back
     * itself: the search path, which is set for every changeset, and what is said to complete_tables between two changesets.
     */
    private static final Pattern LASTING = Pattern.compile(
            "(?:^|;|\\bBEGIN\\b)\\s*(?:SET|RESET)\\b(?! LOCAL (?:search_path|shardflake\\.meanwhile) =)|\\bset_config\\b|\\b(?:PG_)?TEMP(?:ORARY)?\\b",
            Pattern.CASE_INSENSITIVE);

    private CreationBatches() {}

    /**
     * Divides the shards to be created into batches.
     *
     * @param sql the SQL of a shard
     * @param connections over which the batches are spread
     */
    static <S> List<List<S>> of(List<S> shards, Function<S, List<String>> sql, int connections) {
        List<S> together = new ArrayList<>();
        List<List<S>> batches = new ArrayList<>();
        int most = 1;
        for (S shard : shards) {
            List<String> statements = sql.apply(shard);
            if (statements.stream()
                    .anyMatch(statement -> LASTING.matcher(statement).find())) {
                batches.add(List.of(shard));
            } else {
                together.add(shard);
                most = Math.max(most, count(statements));
            }
        }
        int size = Math.max(1, Math.min(Math.min(MOST_STATEMENTS / most, MOST_SHARDS), together.size() / connections));
        for (int from = 0; from < together.size(); from += size) {
            batches.add(together.subList(from, Math.min(from + size, together.size())));
        }
        return batches;
    }

    /** The number of statements that may take locks, even in a text that Liquibase was told not to split. */
    private static int count(List<String> statements) {
        return (int) statements.stream()
                .flatMap(statement -> Stream.of(statement.split(";")))
                .filter(statement -> !statement.stripLeading().startsWith("SET LOCAL "))
                .count();
    }
}
