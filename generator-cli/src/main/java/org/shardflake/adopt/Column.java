/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

/**
 * A column of a table.
 *
 * @param name not quoted
 * @param quoted as it is written in SQL
 * @param type with its length or precision
 * @param identity of the type, the same in every schema that has one of its name
 * @param domain whether the type is a domain
 * @param generated whether its value follows from other columns
 * @param notNull whether null is refused
 * @param filled whether it has a value of its own where a row is written without it
 */
record Column(
        String name,
        String quoted,
        String type,
        String identity,
        boolean domain,
        boolean generated,
        boolean notNull,
        boolean filled) {

    /** Whether a row can be written without it. */
    boolean mayBeLeftOut() {
        return !notNull || filled;
    }

    /** Whether each value of another column is a value of this one too, and looks the same. */
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
