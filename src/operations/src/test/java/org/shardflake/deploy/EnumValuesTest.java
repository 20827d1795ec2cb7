/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Before PostgreSQL 17, an enum has to have a value from the start for its use in the same transaction. */
class EnumValuesTest {

    @Test
    void addedValuesAreThereFromTheStart() {
        assertThat(EnumValues.fromTheStart(List.of(
                        "CREATE TYPE shardflake_template_shard.mood AS ENUM ('sad', 'so')",
                        "CREATE TABLE t (m mood)",
                        "ALTER TYPE mood ADD VALUE 'it''s' BEFORE 'so';",
                        "alter type shardflake_template_shard.mood add value if not exists 'glad'",
                        "ALTER TYPE mood ADD VALUE IF NOT EXISTS 'sad'",
                        "ALTER TYPE mood ADD VALUE 'first' AFTER 'it''s'",
                        "ALTER TABLE t ALTER m SET DEFAULT 'glad'")))
                .containsExactly(
                        "CREATE TYPE shardflake_template_shard.mood AS ENUM ('sad', 'it''s', 'first', 'so', 'glad')",
                        "CREATE TABLE t (m mood)",
                        "SELECT 1",
                        "SELECT 1",
                        "SELECT 1",
                        "SELECT 1",
                        "ALTER TABLE t ALTER m SET DEFAULT 'glad'");
    }

    @Test
    void whatCannotBeToldStaysAsItIs() {
        List<String> statements = List.of(
                "CREATE TYPE mood AS ENUM ('sad')",
                "ALTER TYPE mood RENAME VALUE 'sad' TO 'low'",
                "ALTER TYPE mood ADD VALUE 'glad' AFTER 'low'",
                "ALTER TYPE other ADD VALUE 'x'",
                "ALTER TYPE mood ADD VALUE 'a'; SELECT 1");
        assertThat(EnumValues.fromTheStart(statements)).isEqualTo(statements);
    }
}
