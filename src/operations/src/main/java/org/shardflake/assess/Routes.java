/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.assess;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.shardflake.assess.Assessment.Placement;
import org.shardflake.assess.Assessment.Routing;
import org.shardflake.assess.PlannedStatement.ColumnOf;
import org.shardflake.assess.PlannedStatement.Equal;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Kind;

/** Finds out which shards a planned statement would go to. */
final class Routes {

    private final Sorting sorting;
    private final PlannedStatement statement;
    /** Aliases of tables whose rows all have one value of the key. */
    private final Set<String> keyed = new HashSet<>();
    /** Aliases of tables from which the statement wants one row, or the rows that belong to one row. */
    private final Set<String> identified = new HashSet<>();

    private Routes(Sorting sorting, PlannedStatement statement) {
        this.sorting = sorting;
        this.statement = statement;
    }

    static Routing of(Sorting sorting, PlannedStatement statement) {
        return new Routes(sorting, statement).routing();
    }

    private Routing routing() {
        List<String> sharded = statement.tables().entrySet().stream()
                .filter(table -> sorting.isSharded(table.getValue()))
                .map(Map.Entry::getKey)
                .toList();
        Long target = statement.target();
        boolean intoShards = target != null && sorting.isSharded(target);
        if (sharded.isEmpty() && !intoShards) {
            return Routing.ELSEWHERE;
        }
        boolean staysToo = statement.tables().values().stream()
                        .anyMatch(table -> sorting.place(table).placement() == Placement.STAYS)
                || (target != null && !intoShards);
        if (staysToo) {
            return Routing.MIXED;
        }
        Set<String> keys = new HashSet<>();
        boolean isList = false;
        for (String alias : sharded) {
            SourceTable table = table(alias);
            SourceTable.Column own = sorting.place(table.oid()).column();
            if (own != null) {
                ColumnOf column = new ColumnOf(alias, own.name());
                isList |= statement.isInList(column);
                String value = statement.values().get(column);
                if (value != null) {
                    keys.add(value);
                    keyed.add(alias);
                }
            }
            if (isIdentified(alias, table)) {
                identified.add(alias);
            }
        }
        if (isList || keys.size() > 1) {
            return Routing.SEVERAL_KEYS;
        }
        spread(keyed);
        identified.addAll(keyed);
        spread(identified);
        Routing inserted =
                target != null && intoShards ? insert(sorting.schema().table(target)) : Routing.KEY;
        if (keyed.containsAll(sharded)) {
            return inserted;
        }
        return identified.containsAll(sharded) && inserted != Routing.NO_KEY ? Routing.ID : Routing.NO_KEY;
    }

    private SourceTable table(String alias) {
        return sorting.schema().table(Objects.requireNonNull(statement.tables().get(alias)));
    }

    /** Whether a row's primary key is given, or the id of the row that it belongs to. */
    private boolean isIdentified(String alias, SourceTable table) {
        List<String> id = table.primaryKey();
        SourceTable.ForeignKey parent = sorting.place(table.oid()).parent();
        return (!id.isEmpty() && areGiven(alias, id)) || (parent != null && areGiven(alias, parent.columns()));
    }

    private boolean areGiven(String alias, List<String> columns) {
        return columns.stream().allMatch(column -> statement.values().containsKey(new ColumnOf(alias, column)));
    }

    /** Adds the tables that foreign keys join to the found ones, since joined rows have the same key. */
    private void spread(Set<String> found) {
        boolean grew = true;
        while (grew) {
            grew = false;
            for (Equal equal : statement.equal()) {
                String one = equal.one().alias();
                String other = equal.other().alias();
                if (found.contains(one) != found.contains(other)
                        && statement.tables().containsKey(one)
                        && statement.tables().containsKey(other)
                        && (isForeignKey(equal.one(), equal.other())
                                || isForeignKey(equal.other(), equal.one())
                                || isKey(equal))) {
                    found.add(one);
                    found.add(other);
                    grew = true;
                }
            }
        }
    }

    private boolean isForeignKey(ColumnOf from, ColumnOf to) {
        long target = table(to.alias()).oid();
        return table(from.alias()).foreignKeys().stream()
                .anyMatch(key -> key.target() == target
                        && key.columns().contains(from.column())
                        && key.targetColumns()
                                .get(key.columns().indexOf(from.column()))
                                .equals(to.column()));
    }

    /** Whether two equal columns are both the sharding key. */
    private boolean isKey(Equal equal) {
        return isKey(equal.one()) && isKey(equal.other());
    }

    private boolean isKey(ColumnOf column) {
        SourceTable.Column own = sorting.place(table(column.alias()).oid()).column();
        return own != null && own.name().equals(column.column());
    }

    private Routing insert(SourceTable table) {
        Sorting.Place place = sorting.place(table.oid());
        if (place.placement() == Placement.PRIMARY_KEY) {
            return Routing.KEY;
        }
        if (place.column() != null) {
            return isGiven(place.column()) ? Routing.KEY : Routing.NO_KEY;
        }
        boolean hasParent = place.parent() != null
                && place.parent().columns().stream()
                        .allMatch(name -> table.column(name).map(this::isGiven).orElse(false));
        return hasParent ? Routing.ID : Routing.NO_KEY;
    }

    /** Whether a statement gives a column of a new row a value other than its default. */
    private boolean isGiven(SourceTable.Column column) {
        String value = statement.inserted(column.number());
        return SqlTokens.of(value).stream()
                        .anyMatch(token -> token.kind() == Kind.PARAMETER
                                || token.kind() == Kind.NUMBER
                                || token.isString()
                                || (token.isIdentifier() && value.contains(".")))
                && !value.contains("nextval(");
    }
}
