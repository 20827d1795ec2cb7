/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.List;

/**
 * The effect that the adoption of a table would have.
 *
 * @param table with its schema
 * @param estimatedRows from PostgreSQL's statistics; 0 if there are none
 * @param columns the columns that are brought over
 * @param warnings differences that the application will see in the shards
 */
public record AdoptPreview(
        String table, String into, int shards, long estimatedRows, List<String> columns, List<String> warnings) {}
