/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;

/**
 * Refuses text that Liquibase would change in formatted SQL: it splits statements at semicolons that end a line, even within quotes, recognizes
 * only one line ending, and replaces the parameters of shards.
 */
final class FormattedSql {

    private static final Pattern IN_NAMES = Pattern.compile("[\\n\\r]|\\$\\{shard\\.");
    private static final Pattern IN_TEXTS = Pattern.compile(";[ \\t]*\\n|\\r|\\$\\{shard\\.");
    /** Matches what a type's definition must not contain; unlike other texts, it may consist of several statements. */
    private static final Pattern IN_TYPES = Pattern.compile("\\r|\\$\\{shard\\.");

    private static final Pattern PARAMETER = Pattern.compile("\\$\\{shard\\.");

    private final TableName owner;

    private FormattedSql(TableName owner) {
        this.owner = owner;
    }

    /** @throws ShardflakeException if a table cannot be written as formatted SQL */
    static void require(SourceCatalog.Table table) {
        FormattedSql its = new FormattedSql(table.name());
        its.check(IN_NAMES, "the name", table.name().table());
        for (SourceCatalog.Column column : table.columns()) {
            its.check("column", column.name(), null);
            its.check(IN_TEXTS, "the value of column " + TableName.written(column.name()), column.value());
        }
        table.constraints().forEach(one -> its.check("constraint", one.name(), one.definition()));
        table.indexes().forEach(one -> its.check("index", one.name(), one.using()));
        table.triggers().forEach(one -> its.check("trigger", one.name(), one.definition()));
        table.statistics().forEach(one -> its.check("statistics", one.name(), one.sql()));
    }

    /** @throws ShardflakeException if a function that tables need cannot be written as formatted SQL */
    static void require(SourceCatalog.Function function) {
        // A changeset of a function is one statement, in which lines may end as they do.
        if (IN_NAMES.matcher(function.signature()).find()
                || PARAMETER.matcher(function.definition()).find()) {
            throw refused("%s %s".formatted(function.kind().toLowerCase(Locale.ROOT), function.signature()));
        }
    }

    /** @throws ShardflakeException if types that tables need cannot be written as formatted SQL */
    static void require(List<SourceCatalog.Definition> types) {
        for (SourceCatalog.Definition type : types) {
            if (IN_NAMES.matcher(type.name()).find()
                    || IN_TYPES.matcher(type.sql()).find()) {
                throw refused("type " + TableName.written(type.name()));
            }
        }
    }

    private void check(String kind, String name, @Nullable String text) {
        String what = kind + " " + TableName.written(name);
        check(IN_NAMES, what, name);
        check(IN_TEXTS, what, text);
    }

    private void check(Pattern changed, String what, @Nullable String text) {
        if (text != null && changed.matcher(text).find()) {
            throw refused("%s of table %s".formatted(what, owner));
        }
    }

    private static ShardflakeException refused(String what) {
        return new ShardflakeException(
                ShardflakeException.Kind.PRECONDITION,
                "%s cannot be written into a changelog: Liquibase changes line breaks and ${shard. in formatted SQL"
                        .formatted(what),
                "rename or change it in the old database, and run the same command again",
                null);
    }
}
