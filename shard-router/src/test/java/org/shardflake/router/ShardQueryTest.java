/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ShardQueryTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "SELECT id FROM ${shard.schema}.photo",
                "SELECT id,uid, title FROM ${shard.schema}.photo",
                "select photo.uid , photo.ID\n  from ${shard.schema}.photo\n",
                "SELECT uid, \"id\" FROM ${shard.schema}.\"photo\"",
                "select ${shard.schema}.\"photo\".\"id\", ${shard.schema}.\"photo\".\"uid\" from ${shard.schema}.\"photo\"",
            })
    void takesConditionsBehindTheColumnsOfATable(String sql) {
        ShardQuery<String> query = ShardQuery.of(sql, row -> "");

        assertThat(query.openSql("shard_0007")).isEqualTo(query.sql("shard_0007"));
        assertThat(query.isColumnsOfATable()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "SELECT uid AS id FROM ${shard.schema}.photo",
                "SELECT uid id FROM ${shard.schema}.photo",
                "SELECT uid FROM ${shard.schema}.photo",
                "SELECT \"ID\" FROM ${shard.schema}.photo",
                "SELECT DISTINCT id FROM ${shard.schema}.photo",
                "SELECT * FROM ${shard.schema}.photo",
                "SELECT id, upper(title) FROM ${shard.schema}.photo",
                "SELECT id FROM ${shard.schema}.photo p",
                "SELECT id FROM ${shard.schema}.photo, ${shard.schema}.likes",
                "SELECT id FROM ${shard.schema}.photo WHERE uid = ?",
                "SELECT id FROM ${shard.schema}.photo UNION SELECT id FROM ${shard.schema}.likes",
                "SELECT id FROM ${shard.schema}.photos(1)",
            })
    void putsAnythingElseIntoASubquery(String sql) {
        ShardQuery<String> query = ShardQuery.of(sql, row -> "");

        assertThat(query.openSql("shard_0007")).startsWith("SELECT * FROM (");
        assertThat(query.isColumnsOfATable()).isFalse();
    }
}
