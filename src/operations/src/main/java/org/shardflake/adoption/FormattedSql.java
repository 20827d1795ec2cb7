/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;

/**
 * Refuses what Liquibase would change in formatted SQL: it splits statements where a line ends with a semicolon, also within quotes, knows only one way to
 * end a line, and puts in the parameters of shards.
 */
final class FormattedSql {

    private static final Pattern IN_NAMES = Pattern.compile("[\\n\\r]|\\$\\{shard\\.");
    private static final Pattern IN_TEXTS = Pattern.compile(";[ \\t]*\\n|\\r|\\$\\{shard\\.");
    /** They may be several statements. */
    private static final Pattern IN_TYPES = Pattern.compile("\\r|\\$\\{shard\\.");

    private final TableName owner;

    private FormattedSql(TableName owner) {
        this.owner = owner;
    }

    /** @throws ShardflakeException if a table cannot be written as formatted SQL */
    static void require(SourceCatalog.Table table) {
        FormattedSql its = new FormattedSql(table.name());
        its.name("the name", table.name().table());
        for (SourceCatalog.Column column : table.columns()) {
            its.name("column " + TableName.written(column.name()), column.name());
            its.text("the value of column " + TableName.written(column.name()), column.value());
        }
        for (SourceCatalog.Constraint constraint : table.constraints()) {
            its.name("constraint " + TableName.written(constraint.name()), constraint.name());
            its.text("constraint " + TableName.written(constraint.name()), constraint.definition());
        }
        for (SourceCatalog.Index index : table.indexes()) {
            its.name("index " + TableName.written(index.name()), index.name());
            its.text("index " + TableName.written(index.name()), index.using());
        }
        for (SourceCatalog.Trigger trigger : table.triggers()) {
            its.name("trigger " + TableName.written(trigger.name()), trigger.name());
            its.text("trigger " + TableName.written(trigger.name()), trigger.definition());
        }
    }

    /** @throws ShardflakeException if types or functions that tables need cannot be written as formatted SQL */
    static void require(List<SourceCatalog.Definition> types) {
        for (SourceCatalog.Definition type : types) {
            if (IN_NAMES.matcher(type.name()).find()
                    || IN_TYPES.matcher(type.sql()).find()) {
                throw refused("type " + TableName.written(type.name()));
            }
        }
    }

    private void name(String what, String name) {
        if (IN_NAMES.matcher(name).find()) {
            throw refused("%s of table %s".formatted(what, owner));
        }
    }

    private void text(String what, @Nullable String text) {
        if (text != null && IN_TEXTS.matcher(text).find()) {
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
