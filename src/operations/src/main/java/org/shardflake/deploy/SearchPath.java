/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

/**
 * The search paths of changesets. Others may create in {@code public} what fits better there than PostgreSQL's own, so the path is set only for a
 * user's SQL, and taken back before any of ours.
 */
final class SearchPath {

    /** The search path for our own SQL, even in a transaction that has already run a user's SQL. */
    static final String OURS = "SET LOCAL search_path = pg_catalog, pg_temp";

    private SearchPath() {}

    /** The search path for a user's changesets in a schema. */
    static String of(String schema) {
        return "SET LOCAL search_path = %s, public".formatted(schema);
    }

    /**
     * The search path for a changeset in a schema. PostgreSQL's own schema is searched first unless the path names it, and it would be
     * created in if the path named it first.
     *
     * @param changelog its file; those of our own tables have names of ours
     */
    static String of(String schema, String changelog) {
        return changelog.startsWith("shardflake/")
                ? "SET LOCAL search_path = %s, pg_temp".formatted(schema)
                : of(schema);
    }
}
