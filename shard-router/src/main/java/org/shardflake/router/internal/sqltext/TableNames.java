/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.sqltext;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A statement's text, and the places where it names a table without a schema. Immutable.
 *
 * @param parts the text around those places, one more than there are
 * @param tables the names there, as the server has them
 * @param queries names of queries in WITH clauses
 * @param others all other names that the search_path could give a meaning to
 */
public record TableNames(List<String> parts, List<String> tables, Set<String> queries, Set<String> others) {

    /**
     * The text with the schema before each table; null if that could mean something else than the plain text with the schema in the
     * search_path. Each table must be of the schema, and no other name may be: then no name but those of tables is looked for there.
     */
    @Nullable
    public String in(String schema, ShardNames names) {
        if (!names.isPlain() || has(names, others) || has(names, queries)) {
            return null;
        }
        StringBuilder text = new StringBuilder(parts.get(0));
        for (int i = 0; i < tables.size(); i++) {
            String table = tables.get(i);
            if (names.tables().contains(table)) {
                text.append(schema).append('.');
            } else if (!queries.contains(table)) {
                return null; // It may be elsewhere in the path, or new in the schema.
            }
            text.append(parts.get(i + 1));
        }
        return text.toString();
    }

    private static boolean has(ShardNames names, Set<String> any) {
        for (String name : any) {
            if (names.has(name)) {
                return true;
            }
        }
        return false;
    }
}
