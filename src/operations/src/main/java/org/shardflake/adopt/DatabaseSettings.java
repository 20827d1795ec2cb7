/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.List;
import org.shardflake.adoption.AdoptionPlan;

/**
 * The tables to adopt together, and how fast.
 *
 * @param references the tables of a plan whose rows reference tables have
 * @param batchRows how many rows of a table are brought over at a time: 1..1000000
 * @param workers how many tables are worked on at a time, each with a session on every server: 1..64
 * @param rowsPerSecond how many rows are copied at most, of all tables together; 0 for no limit
 */
public record DatabaseSettings(
        List<AdoptTable> tables, List<AdoptionPlan.Table> references, int batchRows, int workers, int rowsPerSecond) {

    /** Rows of a table brought over at a time by default. */
    public static final int DEFAULT_BATCH_ROWS = 100_000;

    /** Tables worked on at a time by default. */
    public static final int DEFAULT_WORKERS = 4;

    /**
     * The tables of a plan that go into the shards, and its reference tables.
     *
     * @throws AdoptRefusedException if the paths of two tables contradict each other
     */
    public static DatabaseSettings of(AdoptionPlan plan, int batchRows, int workers, int rowsPerSecond) {
        List<AdoptionPlan.Table> references = plan.tables().stream()
                .filter(table -> table.goes() == AdoptionPlan.Goes.REFERENCE)
                .toList();
        return new DatabaseSettings(PlannedTables.of(plan), references, batchRows, workers, rowsPerSecond);
    }

    /** Tables without a plan, at the default pace. */
    public static DatabaseSettings of(AdoptTable... tables) {
        return new DatabaseSettings(List.of(tables), DEFAULT_BATCH_ROWS, DEFAULT_WORKERS, 0);
    }

    /** Tables without a plan. */
    public DatabaseSettings(List<AdoptTable> tables, int batchRows, int workers, int rowsPerSecond) {
        this(tables, List.of(), batchRows, workers, rowsPerSecond);
    }

    public DatabaseSettings {
        tables = List.copyOf(tables);
        references = List.copyOf(references);
        if (tables.isEmpty()) {
            throw new IllegalArgumentException("no table goes into the shards");
        }
        if (batchRows < 1 || batchRows > 1_000_000) {
            throw new IllegalArgumentException("batch of %s rows is out of range 1..1000000".formatted(batchRows));
        }
        if (workers < 1 || workers > 64) {
            throw new IllegalArgumentException("%s workers are out of range 1..64".formatted(workers));
        }
        if (rowsPerSecond < 0) {
            throw new IllegalArgumentException("rate of %s rows a second is negative".formatted(rowsPerSecond));
        }
    }
}
