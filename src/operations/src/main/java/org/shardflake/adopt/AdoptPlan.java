/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.List;

/**
 * What an adoption would do.
 *
 * @param table with its schema
 * @param estimatedRows by PostgreSQL's statistics; 0 if there are none
 * @param columns that are brought over
 * @param warnings what will be different in the shards
 */
public record AdoptPlan(
        String table, String into, int shards, long estimatedRows, List<String> columns, List<String> warnings) {}
