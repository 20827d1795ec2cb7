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
import org.shardflake.adoption.AdoptionPlan.Goes;
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
     * Compares the tables that a plan makes reference tables. Nothing follows what changes in the old ones, so they differ for good when they do.
     *
     * @param home of the reference tables
     * @throws AdoptRefusedException if the reference tables cannot have the rows
     */
    public static List<ReferenceComparison> of(AdoptionPlan plan, ServerUrl oldDatabase, ServerUrl home) {
        return Sql.translating(() -> {
            List<ReferenceComparison> all = new ArrayList<>();
            TableDifference.Names names = new TableDifference.Names();
            try (Connection old = oldDatabase.connect("shardflake adopt verify");
                    Connection there = home.connect("shardflake adopt verify")) {
                for (AdoptionPlan.Table table : plan.tables()) {
                    if (table.goes() == Goes.REFERENCE) {
                        String into = "reference." + Sql.text(there, "SELECT quote_ident(?)", table.target());
                        all.add(Sql.inTransaction(
                                old,
                                () -> Sql.inTransaction(
                                        there,
                                        () -> compare(old, there, table.name().sql(), into, names))));
                    }
                }
            }
            return List.copyOf(all);
        });
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
        Optional<TableDifference> difference = digest.equals(rows.digest(home))
                ? Optional.empty()
                : TableDifference.search(old, home, oldRows, rows, names);
        return new ReferenceComparison(is.name(), into, digest.count(), difference);
    }

    private static TableFacts facts(Connection connection, String table) throws SQLException {
        return TableFacts.find(connection, table, List.of())
                .orElseThrow(() -> new AdoptRefusedException(
                        "there is no table %s to compare".formatted(table),
                        Advice.of("create reference tables with %s", CliCommand.REFERENCE_DEPLOY)));
    }
}
