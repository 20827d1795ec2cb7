/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.sqltext;

import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Kind;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/** Finds the statement in a text that ends its own transaction. */
final class TransactionEnd {

    private static final Set<String> ENDS = Set.of("commit", "end", "abort");

    private TransactionEnd() {}

    /** The statement's name, such as {@code COMMIT}; null if the transaction continues. */
    static @Nullable String in(List<Token> all) {
        List<Token> tokens =
                all.stream().filter(token -> token.kind() != Kind.COMMENT).toList();
        BitSet ends = SqlTokens.ends(tokens);
        for (int start = 0; start < tokens.size(); start = next(ends, start, tokens.size())) {
            Token first = tokens.get(start);
            if (first.kind() == Kind.WORD && (ENDS.contains(first.text()) || isRollback(tokens, start))) {
                return first.text().toUpperCase(Locale.ROOT);
            }
            if (first.is("prepare")
                    && SqlTokens.is(tokens, start + 1, "transaction")
                    && start + 2 < tokens.size()
                    && tokens.get(start + 2).isString()) {
                return "PREPARE TRANSACTION";
            }
        }
        return null;
    }

    private static int next(BitSet ends, int start, int size) {
        int end = ends.nextSetBit(start);
        return end < 0 ? size : end + 1;
    }

    /** ROLLBACK, but not to a savepoint. */
    private static boolean isRollback(List<Token> tokens, int start) {
        boolean hasNoise = SqlTokens.is(tokens, start + 1, "work") || SqlTokens.is(tokens, start + 1, "transaction");
        return tokens.get(start).is("rollback") && !SqlTokens.is(tokens, hasNoise ? start + 2 : start + 1, "to");
    }
}
