/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.shardflake.server.SqlText;

/**
 * The name of a table of the old database.
 *
 * @param schema not quoted
 * @param table not quoted
 */
public record TableName(String schema, String table) implements Comparable<TableName> {

    private static final String PART = "\"(?:[^\"]|\"\")+\"|[^\".\\sA-Z]+";
    private static final Pattern NAME = Pattern.compile("(?:(%1$s)\\.)?(%1$s)".formatted(PART));
    private static final Pattern PLAIN = Pattern.compile("[a-z_][a-z0-9_$]*");
    private static final String PUBLIC = "public";

    /**
     * Reads a name as SQL writes it: the schema, unless that is public, and the table, each in double quotes if it has capital letters,
     * blanks or dots.
     *
     * @throws IllegalArgumentException if it is not such a name
     */
    public static TableName parse(String sql) {
        Matcher name = NAME.matcher(sql);
        if (!name.matches()) {
            throw new IllegalArgumentException(
                    "%s is not the name of a table; write it as in SQL, such as orders, app.orders or \"Orders\""
                            .formatted(sql));
        }
        String schema = name.group(1);
        return new TableName(schema == null ? PUBLIC : plain(schema), plain(name.group(2)));
    }

    /**
     * Reads the name of a column as SQL writes it.
     *
     * @throws IllegalArgumentException if it is not such a name
     */
    static String parseColumn(String sql) {
        if (!Pattern.matches(PART, sql)) {
            throw new IllegalArgumentException(
                    "%s is not the name of a column; write it as in SQL, such as user_id or \"userId\"".formatted(sql));
        }
        return plain(sql);
    }

    private static String plain(String part) {
        String name =
                part.startsWith("\"") ? part.substring(1, part.length() - 1).replace("\"\"", "\"") : part;
        if (!SqlText.shortened(name).equals(name)) {
            throw new IllegalArgumentException(
                    "%s has more than 63 bytes, after which PostgreSQL cuts names; write a shorter one"
                            .formatted(name));
        }
        return name;
    }

    /** A name as the plan's file writes it: in double quotes only if it needs them. */
    static String written(String name) {
        return PLAIN.matcher(name).matches() ? name : SqlText.name(name);
    }

    /** The name in SQL, quoted and with its schema. */
    public String sql() {
        return SqlText.name(schema) + "." + SqlText.name(table);
    }

    @Override
    public int compareTo(TableName other) {
        int schemas = schema.compareTo(other.schema);
        return schemas == 0 ? table.compareTo(other.table) : schemas;
    }

    /** The name as {@link #parse} reads it. */
    @Override
    public String toString() {
        return schema.equals(PUBLIC) ? written(table) : written(schema) + "." + written(table);
    }
}
