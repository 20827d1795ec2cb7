/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.script;

import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/**
 * Finds the word in a query that makes its result over several shards misleading, since each shard has its own result: a limit, or an aggregate
 * without GROUP BY, at the top or in a subquery.
 *
 * <p>A subquery that names a row of the query around it, as in <code>likes.photo_id = photo.id</code>, belongs to that row, which is in one shard.
 * Without types and scopes it shows by a qualified name only. Not thread-safe.
 */
final class PerShardResult {

    private static final Set<String> LIMITS = Set.of("limit", "fetch", "offset");
    private static final Set<String> QUERIES = Set.of("select", "with", "table", "values");
    private static final Set<String> SET_OPERATIONS = Set.of("union", "except", "intersect");

    /** All aggregates of PostgreSQL 15 to 18, including those that are syntax. */
    static final Set<String> AGGREGATES = Set.of(
            ("any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp cume_dist dense_rank every json_agg"
                            + " json_agg_strict json_arrayagg json_object_agg json_object_agg_strict json_object_agg_unique"
                            + " json_object_agg_unique_strict json_objectagg jsonb_agg jsonb_agg_strict jsonb_object_agg jsonb_object_agg_strict"
                            + " jsonb_object_agg_unique jsonb_object_agg_unique_strict max min mode percent_rank percentile_cont percentile_disc"
                            + " range_agg range_intersect_agg rank regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx"
                            + " regr_sxy regr_syy stddev stddev_pop stddev_samp string_agg sum var_pop var_samp variance xmlagg")
                    .split(" ", -1));

    private final List<Token> tokens;

    private PerShardResult(List<Token> tokens) {
        this.tokens = tokens;
    }

    /** The misleading word: a limit in upper case, an aggregate in lower case. */
    static Optional<String> word(String query) {
        List<Token> tokens = SqlTokens.of(query);
        return new PerShardResult(tokens).find(0, tokens.size());
    }

    /** Searches a query between two tokens, and its subqueries. */
    private Optional<String> find(int from, int to) {
        Optional<String> aggregate = Optional.empty();
        Optional<String> ofASubquery = Optional.empty();
        boolean isPerGroup = false;
        for (int i = from; i < to; i++) {
            Token token = tokens.get(i);
            if (token.is("(") && isQuery(i + 1)) {
                int end = end(i);
                if (ofASubquery.isEmpty() && !namesRowOutside(i + 1, end)) {
                    ofASubquery = find(i + 1, end);
                }
                i = end;
            } else if (token.kind() == SqlTokens.Kind.WORD && LIMITS.contains(token.text())) {
                return Optional.of(token.text().toUpperCase(Locale.ROOT));
            } else if (token.kind() == SqlTokens.Kind.WORD && SET_OPERATIONS.contains(token.text())) {
                if (aggregate.isPresent() && !isPerGroup) {
                    return aggregate;
                }
                aggregate = Optional.empty();
                isPerGroup = false;
            } else if (token.is("over") || (token.is("group") && SqlTokens.is(tokens, i + 1, "by"))) {
                isPerGroup = true;
            } else if (aggregate.isEmpty()
                    && token.isIdentifier()
                    && AGGREGATES.contains(token.text())
                    && SqlTokens.is(tokens, i + 1, "(")) {
                aggregate = Optional.of(token.text());
            }
        }
        return isPerGroup || aggregate.isEmpty() ? ofASubquery : aggregate;
    }

    /** Whether a query begins at a token, perhaps in further parentheses. */
    private boolean isQuery(int at) {
        int i = at;
        while (SqlTokens.is(tokens, i, "(")) {
            i++;
        }
        return i < tokens.size()
                && tokens.get(i).kind() == SqlTokens.Kind.WORD
                && QUERIES.contains(tokens.get(i).text());
    }

    /** The position of the matching closing parenthesis, or the end. */
    private int end(int open) {
        int depth = 0;
        for (int i = open; i < tokens.size(); i++) {
            depth += tokens.get(i).is("(") ? 1 : tokens.get(i).is(")") ? -1 : 0;
            if (depth == 0) {
                return i;
            }
        }
        return tokens.size();
    }

    /** Whether a name before a dot is defined only in the surrounding query. */
    private boolean namesRowOutside(int from, int to) {
        Set<String> qualifiers = new HashSet<>();
        Set<String> own = new HashSet<>();
        Set<String> outside = new HashSet<>();
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            if (token.isIdentifier()) {
                boolean isInside = i >= from && i < to;
                if (!SqlTokens.is(tokens, i + 1, ".")) {
                    (isInside ? own : outside).add(token.text());
                } else if (isInside) {
                    qualifiers.add(token.text());
                }
            }
        }
        qualifiers.removeAll(own);
        qualifiers.retainAll(outside);
        return !qualifiers.isEmpty();
    }
}
