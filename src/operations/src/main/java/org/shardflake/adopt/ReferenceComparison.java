/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.compare.Rows;
import org.shardflake.compare.Rows.Digest;
import org.shardflake.compare.TableDifference;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/**
 * One table of the old database, compared with the reference table that has its rows.
 *
 * @param table with its schema
 * @param into the reference table, with its schema
 * @param rows how many rows the old table had
 * @param difference the rows that differ; empty if none does
 */
public record ReferenceComparison(String table, String into, long rows, Optional<TableDifference> difference) {

    /**
     * Whether the reference table lacks rows of the old table, or has others in their place. Until the adoption is complete, the old database leads; rows that
     * only the reference table has came later, or were deleted in the old one.
     */
    public boolean isBehind() {
        return difference
                .filter(its -> !its.missing().isEmpty() || !its.different().isEmpty())
                .isPresent();
    }

    /**
     * Compares tables with the reference tables that have their rows. Nothing follows what changes in the old ones, so they differ for good when they do.
     *
     * @param home of the reference tables
     * @throws AdoptRefusedException if the reference tables cannot have the rows
     */
    static List<ReferenceComparison> of(List<AdoptionPlan.Table> tables, ServerUrl oldDatabase, ServerUrl home)
            throws SQLException {
        List<ReferenceComparison> all = new ArrayList<>();
        TableDifference.Names names = new TableDifference.Names();
        try (Connection old = oldDatabase.connect("shardflake adopt");
                Connection there = home.connect("shardflake adopt")) {
            for (AdoptionPlan.Table table : tables) {
                String into = "reference." + Sql.text(there, "SELECT quote_ident(?)", table.target());
                all.add(Sql.inTransaction(
                        old,
                        () -> Sql.inTransaction(
                                there, () -> compare(old, there, table.name().sql(), into, names))));
            }
        }
        return List.copyOf(all);
    }

    private static ReferenceComparison compare(
            Connection old, Connection home, String table, String into, TableDifference.Names names)
            throws SQLException {
        TableFacts is = facts(old, table);
        TableFacts wanted = facts(home, into);
        List<String> columns = new ArrayList<>();
        for (Column column : is.columns()) {
            if (wanted.column(column.name()).isPresent()) {
                columns.add(column.name());
            } else if (!column.generated()) {
                throw new AdoptRefusedException(
                        "%s cannot have the rows of %s: it has no column %s".formatted(into, is.name(), column.name()),
                        Advice.of("change it with %s", CliCommand.REFERENCE_DEPLOY));
            }
        }
        Rows rows = Rows.of(List.of(home, old), into, columns);
        Rows oldRows = rows.in(is.own());
        Digest digest = oldRows.digest(old);
        Optional<TableDifference> difference =
                digest.equals(rows.digest(home)) ? Optional.empty() : search(old, home, oldRows, rows, names);
        return new ReferenceComparison(is.name(), into, digest.count(), difference);
    }

    private static Optional<TableDifference> search(
            Connection old, Connection home, Rows oldRows, Rows rows, TableDifference.Names names) throws SQLException {
        Optional<TableDifference> first =
                TableDifference.search(old, home, oldRows, rows, names, TableDifference.Filter.ALL);
        boolean areAll = first.filter(its -> its.atLeast() > 0).isEmpty();
        // Among rows that only the home has, there may be others, too.
        return areAll
                ? first
                : TableDifference.search(old, home, oldRows, rows, names, TableDifference.Filter.OF_LEADER)
                        .or(() -> first);
    }

    private static TableFacts facts(Connection connection, String table) throws SQLException {
        return TableFacts.find(connection, table, List.of())
                .orElseThrow(() -> new AdoptRefusedException(
                        "there is no table %s to compare".formatted(table),
                        Advice.of("create reference tables with %s", CliCommand.REFERENCE_DEPLOY)));
    }
}
