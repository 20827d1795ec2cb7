/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A changelog in Liquibase's formatted SQL.
 *
 * @param head the text before the first changeset
 * @param changesets their texts by name, each with its first line
 */
record Changelog(String head, Map<String, String> changesets) {

    private static final Pattern FIRST_LINE = Pattern.compile("(?mi)^[ \\t]*--[ \\t]*changeset[ \\t]+(\\S+).*$");
    private static final String COMMENT = "--";
    private static final String HEAD = COMMENT + "liquibase formatted sql\n\n";
    private static final String AUTHOR = "adopt:";

    static Changelog parse(String text) {
        Map<String, String> changesets = new LinkedHashMap<>();
        Matcher first = FIRST_LINE.matcher(text);
        String head = text;
        String name = "";
        int start = 0;
        while (first.find()) {
            if (name.isEmpty()) {
                head = text.substring(0, first.start());
            } else {
                changesets.put(name, text.substring(start, first.start()).strip());
            }
            name = first.group(1);
            start = first.start();
        }
        if (!name.isEmpty()) {
            changesets.put(name, text.substring(start).strip());
        }
        return new Changelog(head, changesets);
    }

    static Changelog empty() {
        return new Changelog(HEAD, new LinkedHashMap<>());
    }

    /** Adds a changeset. Liquibase ends a statement at a semicolon unless {@code isWhole}. */
    void add(String name, boolean isWhole, String sql) {
        String id = AUTHOR + name.replace("\"", "").replaceAll("[\\s:]", "_");
        String unique = id;
        for (int i = 2; changesets.containsKey(unique); i++) {
            unique = id + "-" + i;
        }
        changesets.put(
                unique,
                "%schangeset %s%s\n%s"
                        .formatted(
                                COMMENT,
                                unique,
                                isWhole ? " splitStatements:false stripComments:false" : "",
                                sql.strip()));
    }

    boolean isEmpty() {
        return changesets.isEmpty();
    }

    String format() {
        return head + String.join("\n\n", changesets.values()) + "\n";
    }
}
