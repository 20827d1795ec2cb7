/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import static java.util.stream.Collectors.joining;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.Sharding;
import org.shardflake.jdbc.Sql;

/**
 * The route from a table's rows to their shards: by the table's own key, or by the key of the rows that they refer to.
 *
 * @param table as it is read, with the key of the rows that are referred to
 * @param key computes the shard of a row of {@code table}
 * @param link the rows that are referred to; null if the table has the key
 * @param referred the columns by which rows of other tables find theirs through this table
 */
record Route(TableFacts table, KeyExpression key, @Nullable Link link, Set<List<String>> referred) {

    /** Finds out whether there is a unique key on exactly these columns that covers all rows and is never deferred. */
    private static final String IS_UNIQUE = """
            SELECT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = ?::regclass AND i.indisunique AND i.indisvalid AND i.indimmediate
                              AND i.indpred IS NULL AND i.indexprs IS NULL
                              AND (SELECT array_agg(a.attname::text ORDER BY a.attname::text) FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, position)
                                     JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum WHERE k.position <= i.indnkeyatts)
                                = (SELECT array_agg(c ORDER BY c) FROM unnest(?::text[]) c))
            """;

    /**
     * A reference to rows of another table that has the key, or that leads to it.
     *
     * @param columns that refer
     * @param to the columns of the parent that they refer to, in the same order
     */
    record Link(List<String> columns, Route parent, List<String> to) {}

    /** The route of a table that has the key. */
    static Route byKey(TableFacts table, Column key, Sharding sharding, Set<List<String>> referred) {
        return new Route(table, KeyExpression.of(key, sharding), null, referred);
    }

    /**
     * The route of a table whose rows take their key from the rows that they refer to.
     *
     * @param added the column that gets the key, not quoted
     * @throws AdoptRefusedException if rows cannot be joined by the link
     */
    static Route byLink(Connection connection, TableFacts table, String added, Link link, Set<List<String>> referred)
            throws SQLException {
        check(connection, table, added, link);
        Column parents = link.parent().key().key();
        Column key = new Column(
                added,
                Sql.text(connection, "SELECT quote_ident(?)", added),
                parents.type(),
                null,
                parents.labels(),
                parents.attributes(),
                parents.identity(),
                false,
                false,
                false,
                false);
        String query =
                joined(table, key, table.own(), link, link.parent().table().rows());
        KeyExpression expression = new KeyExpression(key, link.parent().key().shardCount());
        return new Route(table.with(key, query), expression, link, referred);
    }

    /** Rows with the key of the rows that they refer to. */
    private static String joined(TableFacts table, Column key, String rows, Link link, String parents) {
        TableFacts parent = link.parent().table();
        return "(SELECT t.*, p.%s AS %s FROM %s t LEFT JOIN %s p ON (%s) = (%s))"
                .formatted(
                        link.parent().key().key().quoted(),
                        key.quoted(),
                        rows,
                        parents,
                        table.listOf("t", link.columns()),
                        parent.listOf("p", link.to()));
    }

    /** The rows that are brought to the shards, as an item of a FROM clause without the alias: those that the journals of all tables on the route follow. */
    String followed() {
        return link == null
                ? table.followed()
                : joined(table, key.key(), table.followed(), link, link.parent().followed());
    }

    private static void check(Connection connection, TableFacts table, String added, Link link) throws SQLException {
        TableFacts parent = link.parent().table();
        if (table.column(added).isPresent()) {
            throw new AdoptRefusedException(
                    "%s has a column %s already, which was to get the key in the shards".formatted(table.name(), added),
                    "give the added column another name in the plan");
        }
        for (int i = 0; i < link.columns().size(); i++) {
            checkType(table, link.columns().get(i));
            checkType(parent, link.to().get(i));
        }
        boolean isUnique = Sql.isTrue(
                connection,
                IS_UNIQUE,
                parent.name(),
                connection.createArrayOf("text", link.to().toArray()));
        if (!isUnique) {
            throw new AdoptRefusedException(
                    "rows of %s get their key from %s, where (%s) is not unique"
                            .formatted(table.name(), parent.name(), String.join(", ", link.to())),
                    "choose a path of columns that are unique where it leads to, by a primary key or an ordinary unique constraint");
        }
    }

    /** Refuses a key whose type belongs to an extension, since our sessions do not find the operators of extensions. */
    private static void checkType(TableFacts table, String name) {
        Column column = table.column(name)
                .orElseThrow(() -> new AdoptRefusedException(
                        "table %s has no column %s".formatted(table.name(), name),
                        "its columns are "
                                + table.columns().stream().map(Column::name).collect(joining(", "))));
        boolean isForeign = column.type().contains(".") && column.labels().isEmpty() && !column.domain();
        if (isForeign) {
            throw new AdoptRefusedException(
                    "rows cannot be joined by column %s of %s, of type %s".formatted(name, table.name(), column.type()),
                    "choose a path by columns of types that PostgreSQL has itself");
        }
    }

    /** The SQL that computes the shard of a row, null if the row has none. */
    String shard(String row) {
        return key.of(row);
    }

    /** Whether rows may have no shard. */
    boolean mayLackShard() {
        return link != null || !key.key().notNull();
    }

    /** Whether rows have their keys from those of one of these tables, directly or not. */
    boolean leadsThrough(Set<String> tables) {
        return link != null
                && (tables.contains(link.parent().table().name())
                        || link.parent().leadsThrough(tables));
    }

    boolean hasChildren() {
        return !referred.isEmpty();
    }

    /** The columns that the journal records of a changed row. */
    List<String> noted() {
        Set<String> noted = new LinkedHashSet<>(table.primaryKey());
        if (link != null) {
            noted.addAll(link.columns());
        }
        referred.forEach(noted::addAll);
        return List.copyOf(noted);
    }

    /** The columns that determine the keys of rows in other tables. */
    List<String> deciding() {
        Set<String> deciding = new LinkedHashSet<>();
        if (link == null) {
            deciding.add(key.key().name());
        } else {
            deciding.addAll(link.columns());
        }
        referred.forEach(deciding::addAll);
        return List.copyOf(deciding);
    }

    /** A description of the route, for messages, and for checking that a resumed adoption uses the same one. */
    String description() {
        String own = link == null
                ? key.key().name()
                : "%s, the key of (%s) in %s by (%s)"
                        .formatted(
                                key.key().name(),
                                String.join(", ", link.to()),
                                link.parent().table().name(),
                                String.join(", ", link.columns()));
        String others = referred.stream()
                .map(columns -> "(" + String.join(", ", columns) + ")")
                .sorted()
                .collect(joining(", "));
        return own + (others.isEmpty() ? "" : ", also for tables that refer to " + others);
    }

    @Override
    public String toString() {
        return table.name() + " by " + description();
    }
}
