/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cluster.PostgresExtension;

class SqlTextTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "plain",
                "it's",
                "\\",
                "a\\'b",
                "\\\\'",
                "\"",
                "$$",
                "$do$",
                "?",
                "{fn x}",
                "\n\t",
                "e\u0301🦔"
            })
    void aLiteralIsItsValue(String value) throws SQLException {
        try (Connection connection = postgres.database(0).connect();
                Statement statement = connection.createStatement()) {
            for (String setting : new String[] {"on", "off"}) {
                statement.execute("SET standard_conforming_strings = " + setting);
                String literal = SqlText.literal(value);
                try (ResultSet row =
                        statement.executeQuery("SELECT%s, 1 AS%s".formatted(literal, SqlText.name("n" + value)))) {
                    row.next();
                    assertThat(row.getString(1)).isEqualTo(value);
                    assertThat(row.getMetaData().getColumnLabel(2)).isEqualTo("n" + value);
                }
                statement.execute("DO "
                        + SqlText.literal("BEGIN ASSERT length(%s) = %s; END"
                                .formatted(literal, value.codePointCount(0, value.length()))));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "plain",
                "$",
                "$$",
                "$$$",
                "x$",
                "$shardflake1",
                "$shardflake1$ $$",
                "$$ $shardflake1$$shardflake2$",
                "$a$$1"
            })
    void aBodyIsItsText(String text) throws SQLException {
        try (Connection connection = postgres.database(0).connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT " + SqlText.body(text) + ", 1")) {
            row.next();
            assertThat(row.getString(1)).isEqualTo(text);
        }
    }

    @Test
    void aCommentIsOneLine() {
        assertThat(SqlText.comment("owned by \"a\r\nDROP TABLE b;\u202e\""))
                .isEqualTo("-- owned by \"a??DROP TABLE b;?\"\n");
    }

    @Test
    void whatIsCopiedIsOneColumnOfOneLine() {
        assertThat(SqlText.copied("a\\b\tc\nd\re")).isEqualTo("a\\\\b\\tc\\nd\\re");
    }

    @Test
    void aNameThatIsTooLongStaysDifferentFromOthers() {
        String name = "🦔".repeat(15) + "abc";
        assertThat(SqlText.shortened(name)).isEqualTo(name);
        assertThat(SqlText.shortened(name + "d"))
                .startsWith("🦔".repeat(11) + "_")
                .isNotEqualTo(SqlText.shortened(name + "e"))
                .satisfies(cut -> assertThat(cut.getBytes(UTF_8)).hasSizeLessThanOrEqualTo(63));
    }
}
