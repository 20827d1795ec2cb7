/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Kind;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/**
 * The meaning of a changeset's SQL for a shard whose rows are replicated to a copy. What is not known to be harmless is refused.
 *
 * <p>Rows flow as they are on the shard. So the copy must accept every row of the shard at any moment, also if the deployment dies between the two: it
 * gets first what lets it accept more, and last what lets it accept less.
 *
 * @param order which of the two is changed first
 * @param refusal why it cannot be deployed to a moving shard, as the predicate of a sentence, and what to do instead
 */
record FollowedSql(Order order, Optional<Refusal> refusal) {

    /** The order in which the two servers are changed. */
    enum Order {
        /** Any order: the rows that the tables accept stay the same. */
        ANY,
        /** Only the shard: rows written there are replicated to the copy. */
        ROWS,
        /** First the copy, since the tables accept more rows afterwards. */
        COPY_FIRST,
        /** First the shard, since the tables accept fewer rows afterwards. */
        SHARD_FIRST
    }

    /**
     * The reason not to deploy, and what to do instead.
     *
     * @param what a predicate
     * @param instead what to do, as a request
     */
    record Refusal(String what, String instead) {}

    private static final Set<String> WRITES = Set.of("insert", "update", "delete", "merge");
    private static final Set<String> CONSTRAINTS = Set.of("constraint", "unique", "check", "foreign", "exclude", "not");
    private static final Set<String> CREATED = Set.of(
            "view",
            "function",
            "procedure",
            "aggregate",
            "trigger",
            "constraint",
            "type",
            "domain",
            "policy",
            "statistics",
            "sequence");
    private static final Set<String> ALTERED =
            Set.of("index", "view", "function", "procedure", "aggregate", "policy", "statistics", "trigger");
    private static final Set<String> COLUMN_SETTINGS = Set.of("default", "statistics", "storage", "compression", "(");
    private static final Set<String> IN_CASTS = Set.of(":", "::", "(", ")", ",", ".", "[", "]");
    private static final Set<String> LITERALS = Set.of("true", "false", "null");

    /** Words of actions that are refused on new tables, too: settings of a table, and its relation to others. */
    private static final Set<String> KEPT_ALIKE = Set.of(
            "owner",
            "schema",
            "tablespace",
            "attach",
            "detach",
            "inherit",
            "logged",
            "unlogged",
            "security",
            "replica");

    private static final String LATER = "deploy it when the move is done";
    private static final Refusal UNKNOWN = new Refusal(
            "has a statement whose effect on a copy that follows is not known",
            "write it as plain statements, or " + LATER);
    private static final Refusal REWRITES = new Refusal(
            "changes the type of a column, which rewrites its table",
            "add a column of the new type in one changeset, fill it in a second, and drop the old column in a later release; or "
                    + LATER);
    private static final Refusal RENAMES = new Refusal(
            "renames what rows are replicated by",
            "add a column or table of the new name in one changeset, fill it in a second, and drop the old one in a later release; or "
                    + LATER);
    private static final Refusal DEFAULTS = new Refusal(
            "adds a column with a default that each server would compute for itself",
            "add the column without a default in one changeset, and set its default and fill it in a second; or "
                    + LATER);
    private static final Refusal NO_DEFAULT = new Refusal(
            "adds a column that is NOT NULL without a default",
            "add it without NOT NULL in one changeset, fill it in a second, and SET NOT NULL in a third; or " + LATER);
    private static final Refusal CONSTRAINED = new Refusal(
            "adds a column together with a constraint on it",
            "add the constraint in a separate changeset, or " + LATER);
    private static final Refusal KEY = new Refusal("changes a primary key, by which rows are replicated", LATER);
    private static final Refusal MIXED = new Refusal(
            "both lets a table accept more and fewer rows, or writes rows and restricts them",
            "use one changeset for what adds, one for what writes rows, and one for what restricts or removes, in this order; or "
                    + LATER);
    private static final Refusal UNREPLICATED = new Refusal("creates a table whose rows are not replicated", LATER);
    private static final Refusal IF_NOT_EXISTS =
            new Refusal("fills a table that may be there already", "leave out IF NOT EXISTS, or " + LATER);
    private static final Refusal CASCADES =
            new Refusal("drops whatever depends on something", "name what it drops, or " + LATER);

    /** The meaning of a changeset's SQL. */
    static FollowedSql of(ShardChangeSet changeSet) {
        if (changeSet.hasPreconditions()) {
            return refused(new Refusal("has preconditions, which the two servers may answer differently", LATER));
        }
        if (!changeSet.isMade()) {
            return refused(new Refusal("has SQL that is made on a shard", LATER));
        }
        Order order = Order.ANY;
        Set<String> created = new HashSet<>();
        for (String sql : changeSet.sql()) {
            boolean writes = writesRows(sql);
            for (List<Token> statement : statements(sql)) {
                FollowedSql its = of(statement, created);
                if (writes && its.order != Order.ROWS) {
                    return refused(MIXED);
                }
                if (its.refusal.isPresent()) {
                    return its;
                }
                if (!changeSet.inTransaction() && !isIndex(statement)) {
                    return refused(UNKNOWN);
                }
                Optional<Order> both = and(order, its.order);
                if (both.isEmpty()) {
                    return refused(MIXED);
                }
                order = both.get();
            }
        }
        return in(order);
    }

    /** The meaning of a statement. A table that is created by the same changeset has no rows on the copy, and so accepts whatever it is to get. */
    private static FollowedSql of(List<Token> tokens, Set<String> created) {
        createdTable(tokens).ifPresent(name -> created.add(last(name)));
        List<Token> changed = changedTable(tokens);
        boolean isNew = !changed.isEmpty() && created.contains(last(changed)) && !has(tokens, KEPT_ALIKE);
        return isNew ? in(Order.ANY) : of(tokens);
    }

    /**
     * The names of the tables that a statement creates and fills, as the statement writes them. Their rows flow to the copy, where they must
     * not be twice.
     */
    static List<String> filledTables(String sql) {
        List<String> filled = new ArrayList<>();
        for (List<Token> statement : statements(sql)) {
            createdTable(statement)
                    .filter(name -> isFilled(statement))
                    .ifPresent(name -> filled.add(sql.substring(
                            name.get(0).start(), name.get(name.size() - 1).end())));
        }
        return filled;
    }

    /** The name of the table that a statement creates. */
    private static Optional<List<Token>> createdTable(List<Token> tokens) {
        return is(tokens, 0, "create") && is(tokens, 1, "table")
                ? Optional.of(name(tokens, is(tokens, 2, "if") ? 5 : 2)).filter(name -> !name.isEmpty())
                : Optional.empty();
    }

    /** The name of the table that a statement changes, or gives an index. */
    private static List<Token> changedTable(List<Token> tokens) {
        if (is(tokens, 0, "alter") && is(tokens, 1, "table")) {
            int i = is(tokens, 2, "if") ? 4 : 2;
            return name(tokens, is(tokens, i, "only") ? i + 1 : i);
        }
        int on = is(tokens, 0, "create") && isIndex(tokens) ? indexOf(tokens, "on") : -1;
        return on < 0 ? List.of() : name(tokens, is(tokens, on + 1, "only") ? on + 2 : on + 1);
    }

    private static List<Token> name(List<Token> tokens, int from) {
        int to = is(tokens, from + 1, ".") ? from + 3 : from + 1;
        return to > tokens.size() ? List.of() : tokens.subList(from, to);
    }

    private static String last(List<Token> name) {
        return name.isEmpty() ? "" : name.get(name.size() - 1).text();
    }

    /** Whether a statement creates a table from a query's rows, with {@code AS} outside parentheses. */
    private static boolean isFilled(List<Token> tokens) {
        int depth = 0;
        for (Token token : tokens) {
            depth += token.is("(") ? 1 : token.is(")") ? -1 : 0;
            if (depth == 0 && token.is("as")) {
                return true;
            }
        }
        return false;
    }

    /** Whether a statement writes rows, which are then replicated to the copy instead of written there. */
    static boolean writesRows(String sql) {
        return statements(sql).stream().anyMatch(statement -> of(statement).order == Order.ROWS);
    }

    /** The order that suits two changes together, if there is one. */
    static Optional<Order> and(Order one, Order other) {
        if (one == other || other == Order.ANY) {
            return Optional.of(one);
        }
        if (one == Order.ANY) {
            return Optional.of(other);
        }
        return one == Order.SHARD_FIRST || other == Order.SHARD_FIRST
                ? Optional.empty()
                : Optional.of(Order.COPY_FIRST);
    }

    private static FollowedSql in(Order order) {
        return new FollowedSql(order, Optional.empty());
    }

    private static FollowedSql refused(Refusal refusal) {
        return new FollowedSql(Order.ANY, Optional.of(refusal));
    }

    private static FollowedSql of(List<Token> tokens) {
        String first = tokens.get(0).text();
        if (tokens.get(0).kind() != Kind.WORD) {
            return refused(UNKNOWN);
        }
        return switch (first) {
            case "set", "reset", "comment", "grant", "revoke" -> in(Order.ANY);
            case "insert", "update", "delete", "merge" -> in(Order.ROWS);
            case "with" -> has(tokens, WRITES) ? in(Order.ROWS) : refused(UNKNOWN);
            case "create" -> created(tokens);
            case "drop" -> dropped(tokens);
            case "alter" -> altered(tokens);
            default -> refused(UNKNOWN);
        };
    }

    private static FollowedSql created(List<Token> tokens) {
        int i = is(tokens, 1, "or") ? 3 : 1;
        if (is(tokens, i, "unique")) {
            return in(Order.SHARD_FIRST);
        }
        if (is(tokens, i, "index")) {
            return in(Order.ANY);
        }
        if (is(tokens, i, "table")) {
            return is(tokens, i + 1, "if") && isFilled(tokens) ? refused(IF_NOT_EXISTS) : in(Order.ANY);
        }
        if (is(tokens, i + 1, "table") || is(tokens, i + 2, "table")) {
            return refused(UNREPLICATED);
        }
        return CREATED.contains(text(tokens, i)) ? in(Order.ANY) : refused(UNKNOWN);
    }

    private static FollowedSql dropped(List<Token> tokens) {
        boolean cascades = tokens.get(tokens.size() - 1).is("cascade");
        return switch (text(tokens, 1)) {
            case "index" -> in(Order.COPY_FIRST);
            case "table" -> cascades ? refused(CASCADES) : in(Order.SHARD_FIRST);
            case "view",
                    "materialized",
                    "function",
                    "procedure",
                    "aggregate",
                    "trigger",
                    "type",
                    "domain",
                    "policy",
                    "statistics",
                    "sequence" -> cascades ? refused(CASCADES) : in(Order.ANY);
            default -> refused(UNKNOWN);
        };
    }

    private static FollowedSql altered(List<Token> tokens) {
        String what = text(tokens, 1);
        if (what.equals("table")) {
            return table(tokens);
        }
        if (what.equals("type")) {
            boolean adds = has(tokens, Set.of("add")) && has(tokens, Set.of("value")) && !has(tokens, Set.of("rename"));
            return adds ? in(Order.COPY_FIRST) : refused(UNKNOWN);
        }
        return ALTERED.contains(what) && !has(tokens, Set.of("owner", "schema", "tablespace", "attach"))
                ? in(Order.ANY)
                : refused(UNKNOWN);
    }

    private static FollowedSql table(List<Token> tokens) {
        int i = is(tokens, 2, "if") ? 4 : 2;
        i += is(tokens, i, "only") ? 2 : 1;
        i += is(tokens, i, ".") ? 2 : 0;
        i += is(tokens, i, "*") ? 1 : 0;
        Order order = Order.ANY;
        for (List<Token> action : split(tokens.subList(Math.min(i, tokens.size()), tokens.size()))) {
            FollowedSql its = action(action);
            Optional<Order> both = and(order, its.order);
            if (its.refusal.isPresent() || both.isEmpty()) {
                return its.refusal.isPresent() ? its : refused(MIXED);
            }
            order = both.get();
        }
        return in(order);
    }

    private static FollowedSql action(List<Token> tokens) {
        return switch (text(tokens, 0)) {
            case "add" -> added(tokens);
            case "drop" -> in(is(tokens, 1, "constraint") ? Order.COPY_FIRST : Order.SHARD_FIRST);
            case "validate" -> in(Order.SHARD_FIRST);
            case "alter" -> column(tokens);
            case "rename" -> is(tokens, 1, "constraint") ? in(Order.ANY) : refused(RENAMES);
            case "set", "reset" -> is(tokens, 1, "(") ? in(Order.ANY) : refused(UNKNOWN);
            case "disable" -> is(tokens, 1, "row") ? in(Order.ANY) : refused(UNKNOWN);
            case "no" -> is(tokens, 1, "force") ? in(Order.ANY) : refused(UNKNOWN);
            default -> refused(UNKNOWN);
        };
    }

    private static FollowedSql column(List<Token> tokens) {
        int i = is(tokens, 1, "constraint") ? tokens.size() : is(tokens, 1, "column") ? 3 : 2;
        String next = text(tokens, i + 1);
        return switch (text(tokens, i)) {
            case "type" -> refused(REWRITES);
            case "set" ->
                next.equals("data")
                        ? refused(REWRITES)
                        : next.equals("not")
                                ? in(Order.SHARD_FIRST)
                                : COLUMN_SETTINGS.contains(next) ? in(Order.ANY) : refused(UNKNOWN);
            case "reset" -> in(Order.ANY);
            case "drop" ->
                next.equals("not") ? in(Order.COPY_FIRST) : next.equals("default") ? in(Order.ANY) : refused(UNKNOWN);
            default -> refused(UNKNOWN);
        };
    }

    private static FollowedSql added(List<Token> tokens) {
        if (is(tokens, 1, "primary") || (is(tokens, 1, "constraint") && is(tokens, 3, "primary"))) {
            return refused(KEY);
        }
        if (tokens.size() > 1
                && tokens.get(1).kind() == Kind.WORD
                && CONSTRAINTS.contains(tokens.get(1).text())) {
            return in(Order.SHARD_FIRST);
        }
        if (has(tokens, Set.of("primary"))) {
            return refused(KEY);
        }
        if (has(tokens, Set.of("generated", "serial", "bigserial", "smallserial", "serial2", "serial4", "serial8"))) {
            return refused(DEFAULTS);
        }
        if (has(tokens, Set.of("check"))) {
            return refused(CONSTRAINED);
        }
        int at = indexOf(tokens, "default");
        boolean isNull = at < 0 || is(tokens, at + 1, "null");
        if (!isNull && !isLiteral(tokens.subList(at + 1, tokens.size()))) {
            return refused(DEFAULTS);
        }
        if (isNull && isNotNull(tokens)) {
            return refused(NO_DEFAULT);
        }
        return !isNull && has(tokens, Set.of("unique", "references")) ? refused(CONSTRAINED) : in(Order.COPY_FIRST);
    }

    private static boolean isNotNull(List<Token> tokens) {
        for (int i = 1; i < tokens.size(); i++) {
            if (is(tokens, i - 1, "not") && is(tokens, i, "null")) {
                return true;
            }
        }
        return false;
    }

    /** Whether a default is a constant, perhaps with a sign and a cast; more constraints may follow it. */
    private static boolean isLiteral(List<Token> tokens) {
        int i = is(tokens, 0, "-") || is(tokens, 0, "+") ? 1 : 0;
        if (i >= tokens.size()) {
            return false;
        }
        Token value = tokens.get(i);
        boolean isConstant = value.isString()
                || value.kind() == Kind.NUMBER
                || (value.kind() == Kind.WORD && LITERALS.contains(value.text()));
        return isConstant && (i + 1 == tokens.size() || tokens.get(i + 1).kind() == Kind.WORD || isCast(tokens, i + 1));
    }

    private static boolean isCast(List<Token> tokens, int i) {
        return (is(tokens, i, ":") || is(tokens, i, "::"))
                && tokens.subList(i, tokens.size()).stream()
                        .allMatch(token -> token.kind() != Kind.SYMBOL || IN_CASTS.contains(token.text()));
    }

    /** Splits a statement into its actions, at commas outside parentheses. */
    private static List<List<Token>> split(List<Token> tokens) {
        List<List<Token>> parts = new ArrayList<>();
        List<Token> part = new ArrayList<>();
        int depth = 0;
        for (Token token : tokens) {
            depth += token.is("(") || token.is("[") ? 1 : token.is(")") || token.is("]") ? -1 : 0;
            if (depth == 0 && token.is(",")) {
                parts.add(part);
                part = new ArrayList<>();
            } else {
                part.add(token);
            }
        }
        parts.add(part);
        return parts;
    }

    private static boolean isIndex(List<Token> tokens) {
        return is(tokens, 1, "index") || is(tokens, 2, "index");
    }

    private static List<List<Token>> statements(String sql) {
        List<Token> tokens = SqlTokens.of(sql);
        BitSet ends = SqlTokens.ends(tokens);
        List<List<Token>> statements = new ArrayList<>();
        List<Token> current = new ArrayList<>();
        for (int i = 0; i < tokens.size(); i++) {
            if (!ends.get(i)) {
                current.add(tokens.get(i));
            }
            if ((ends.get(i) || i == tokens.size() - 1) && !current.isEmpty()) {
                statements.add(current);
                current = new ArrayList<>();
            }
        }
        return statements;
    }

    private static int indexOf(List<Token> tokens, String word) {
        for (int i = 0; i < tokens.size(); i++) {
            if (is(tokens, i, word)) {
                return i;
            }
        }
        return -1;
    }

    private static boolean has(List<Token> tokens, Set<String> words) {
        return tokens.stream().anyMatch(token -> token.kind() == Kind.WORD && words.contains(token.text()));
    }

    private static boolean is(List<Token> tokens, int i, @Nullable String word) {
        return word != null && SqlTokens.is(tokens, i, word);
    }

    private static String text(List<Token> tokens, int i) {
        return i < tokens.size() && tokens.get(i).kind() != Kind.NAME
                ? tokens.get(i).text()
                : "";
    }
}
