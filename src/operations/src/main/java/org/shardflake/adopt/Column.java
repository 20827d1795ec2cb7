/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A column of a table.
 *
 * @param name not quoted
 * @param quoted as written in SQL
 * @param type with its length or precision
 * @param ownType the type without its schema if it is in the table's own schema, and so a different type in each shard
 * @param labels the values of an enum, or of the element type of an array or the base type of a domain
 * @param attributes the attributes of a composite type, likewise
 * @param identity identifies the type; equal in every schema that has one of its name
 * @param domain whether the type is a domain
 * @param generated whether its value is computed from other columns
 * @param notNull whether it refuses null
 * @param filled whether it gets a value of its own when a row is written without it
 */
record Column(
        String name,
        String quoted,
        String type,
        @Nullable String ownType,
        List<String> labels,
        List<String> attributes,
        String identity,
        boolean domain,
        boolean generated,
        boolean notNull,
        boolean filled) {

    /** Whether staged values stay text until their table is known, or the table accepts such text. */
    boolean stagedAsText() {
        return domain || ownType != null;
    }

    /** The type's name for a table in another schema. */
    String typeIn(String schema) {
        return ownType == null ? type : schema + "." + ownType;
    }

    /** The type, for display. */
    String shortType() {
        return ownType == null ? type : ownType;
    }

    /** Whether a row can be written without this column. */
    boolean mayBeLeftOut() {
        return !notNull || filled;
    }

    /** Whether every value of another column is valid in this one, and reads the same. */
    boolean takes(Column other) {
        return identity.equals(other.identity)
                || switch (type) {
                    case "bigint" -> other.type.equals("integer") || other.type.equals("smallint");
                    case "integer" -> other.type.equals("smallint");
                    case "text", "character varying" ->
                        other.type.equals("text") || other.type.startsWith("character varying");
                    default -> false;
                };
    }
}
