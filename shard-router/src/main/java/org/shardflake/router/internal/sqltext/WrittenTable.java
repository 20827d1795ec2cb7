/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.sqltext;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/** The table that an everyday INSERT, UPDATE or DELETE writes to, with names as the server stores them. */
public record WrittenTable(String schema, String name) {

    /** The table that a statement writes to, if the statement begins with these tokens and names a schema; null for any other text. */
    static @Nullable WrittenTable of(List<Token> tokens) {
        boolean writes = SqlTokens.is(tokens, 0, "update")
                || (SqlTokens.is(tokens, 0, "insert") && SqlTokens.is(tokens, 1, "into"))
                || (SqlTokens.is(tokens, 0, "delete") && SqlTokens.is(tokens, 1, "from"));
        int schema = SqlTokens.is(tokens, 0, "update") ? 1 : 2;
        schema += SqlTokens.is(tokens, schema, "only") ? 1 : 0;
        int name = schema + 2;
        return writes
                        && isName(tokens, schema)
                        && SqlTokens.is(tokens, schema + 1, ".")
                        && isName(tokens, name)
                        && !SqlTokens.is(tokens, name + 1, ".")
                        && tokens.stream().noneMatch(token -> token.is(";"))
                ? new WrittenTable(tokens.get(schema).text(), tokens.get(name).text())
                : null;
    }

    /** This table with the actual schema in place of a placeholder. */
    WrittenTable in(String placeholder, String actual) {
        return new WrittenTable(schema.replace(placeholder, actual), name.replace(placeholder, actual));
    }

    private static boolean isName(List<Token> tokens, int i) {
        return i < tokens.size() && TableNamesReader.isName(tokens.get(i));
    }
}
