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
 * @param generated whether its value follows from other columns
 * @param mayBeLeftOut whether a row can be written without it
 */
record Column(String name, String quoted, String type, boolean generated, boolean mayBeLeftOut) {

    /** Whether each value of another column is a value of this one too, and looks the same. */
    boolean takes(Column other) {
        return type.equals(other.type)
                || switch (type) {
                    case "bigint" -> other.type.equals("integer") || other.type.equals("smallint");
                    case "integer" -> other.type.equals("smallint");
                    case "text", "character varying" ->
                        other.type.equals("text") || other.type.startsWith("character varying");
                    default -> false;
                };
    }
}
