/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

/**
 * Where a changeset finds names without a schema. Others may create in {@code public} what fits better there than PostgreSQL's own, so
 * the path is set only for a user's SQL, and taken back before any of ours.
 */
final class SearchPath {

    /** For our own SQL, also in a transaction that has run a user's. */
    static final String OURS = "SET LOCAL search_path = pg_catalog, pg_temp";

    private SearchPath() {}

    /** For a user's changesets of a schema. */
    static String of(String schema) {
        return "SET LOCAL search_path = %s, public".formatted(schema);
    }

    /**
     * For a changeset of a schema.
     *
     * @param changelog its file; those of our own tables have names of ours
     */
    static String of(String schema, String changelog) {
        return changelog.startsWith("shardflake/")
                ? "SET LOCAL search_path = %s, pg_catalog, pg_temp".formatted(schema)
                : of(schema);
    }
}
