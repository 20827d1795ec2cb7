/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Kind;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/**
 * Finds SQL that does not belong in a shard: names of other schemas, schemas and extensions made in passing, writes to reference tables,
 * transaction ends, and changes to the search_path that resolves the shard's tables.
 *
 * <p>Reads the text only: SQL assembled at run time, such as with {@code format}, is not seen.
 */
final class StraySql {

    /**
     * A finding.
     *
     * @param at its offset in the SQL
     * @param use what the SQL does there
     */
    record Stray(int at, StrayUse use) {}

    /** The context of code: a DO block runs immediately, a function when it is called. */
    private enum Place {
        STATEMENT,
        DO_BLOCK,
        FUNCTION
    }

    private static final Pattern SHARD = Pattern.compile("shard_[0-9]{4}");
    private static final Pattern QUALIFIED =
            Pattern.compile("\"?(public|shard_[0-9]{4})\"?\\..+", Pattern.CASE_INSENSITIVE);
    private static final Pattern WRITES = Pattern.compile(
            "\\b(insert\\s+into|update|delete\\s+from|truncate|merge\\s+into|copy)\\b", Pattern.CASE_INSENSITIVE);
    private static final Pattern NAMES_REFERENCE =
            Pattern.compile("(^|[^\\w.])\"?reference\"?\\s*(\\.|$)", Pattern.CASE_INSENSITIVE);
    private static final Set<String> TRANSACTION_CONTROL =
            Set.of("begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release");
    private static final Set<String> TAKE_NAMES =
            Set.of("nextval", "currval", "setval", "to_regclass", "to_regtype", "to_regproc", "pg_get_serial_sequence");

    /** The tokens after which a statement begins in PL/pgSQL. */
    private static final Set<String> BEFORE_STATEMENTS = Set.of(";", "begin", "then", "else", "loop");

    /** Schemas that any SQL may name. */
    private static final Set<String> EVERYWHERE = Set.of(
            "pg_catalog",
            "information_schema",
            "pg_temp",
            "shardflake",
            ReferenceChangelog.SCHEMA,
            ShardChangeSet.TEMPLATE_SCHEMA);

    /** Words after which a name with a dot begins with a schema. */
    private static final Set<String> BEFORE_NAMES = Set.of(
            "join",
            "table",
            "only",
            "view",
            "sequence",
            "references",
            "update",
            "function",
            "procedure",
            "routine",
            "aggregate",
            "type",
            "domain",
            "collation",
            "truncate",
            "copy",
            "lock",
            "analyze",
            "vacuum",
            "index",
            "trigger");

    /** Functions that use FROM between their arguments. */
    private static final Set<String> FROM_INSIDE = Set.of("extract", "substring", "trim", "overlay", "position");

    private static final Set<String> MAKING = Set.of("create", "alter", "drop", "comment");

    private final List<Token> tokens;
    private final Place place;
    private final boolean allowPublic;
    private final boolean ofReference;
    private int first;

    private StraySql(List<Token> tokens, Place place, boolean allowPublic, boolean ofReference) {
        this.tokens = tokens;
        this.place = place;
        this.allowPublic = allowPublic;
        this.ofReference = ofReference;
    }

    /** @param allowPublic whether names of {@code public} are allowed */
    static Optional<Stray> find(String sql, boolean allowPublic) {
        return Optional.ofNullable(new StraySql(SqlTokens.of(sql), Place.STATEMENT, allowPublic, false).find());
    }

    /** Finds stray SQL like {@link #find(String, boolean)}, but in changesets of reference tables, which may write to these. */
    static Optional<Stray> findInReference(String sql, boolean allowPublic) {
        return Optional.ofNullable(new StraySql(SqlTokens.of(sql), Place.STATEMENT, allowPublic, true).find());
    }

    /** Whether SQL may change its session in a way that would affect the next shard. */
    static boolean lasts(String sql) {
        List<Token> tokens = SqlTokens.of(sql);
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            boolean command = beginsStatement(tokens, i)
                    && Set.of("set", "reset", "listen", "prepare", "declare", "discard", "load")
                            .contains(token.text());
            boolean named = token.isIdentifier()
                    && (token.text().equals("set_config")
                            || token.text().equals("temp")
                            || token.text().equals("temporary")
                            || token.text().startsWith("pg_advisory_lock")
                            || token.text().startsWith("pg_try_advisory_lock"));
            boolean inside = token.isString() && isCode(tokens, i) && lasts(token.text());
            if (command || named || inside) {
                return true;
            }
        }
        return false;
    }

    /** Whether a statement begins here, possibly inside a body in PL/pgSQL. */
    static boolean beginsStatement(List<Token> tokens, int i) {
        return i == 0 || BEFORE_STATEMENTS.contains(tokens.get(i - 1).text());
    }

    private @Nullable Stray find() {
        BitSet ends = SqlTokens.ends(tokens);
        first = 0;
        for (int i = 0; i < tokens.size(); i++) {
            if (ends.get(i)) {
                first = i + 1;
            }
            Stray found = check(i, i == first);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    private @Nullable Stray check(int i, boolean isFirst) {
        Token token = tokens.get(i);
        if (place != Place.STATEMENT && !ofReference && token.is("execute") && writesReference(i)) {
            return stray(i, writesReference("schema " + ReferenceChangelog.SCHEMA));
        }
        if (token.isString()) {
            return checkString(i);
        }
        if (place == Place.STATEMENT && isFirst && endsTransaction(i)) {
            return stray(
                    i,
                    "has %s: all that a shard is given is one transaction, which ends when all of it is done"
                            .formatted(token.text().toUpperCase(Locale.ROOT)));
        }
        if (place != Place.STATEMENT && BEFORE_STATEMENTS.contains(text(i - 1))) {
            first = i;
        }
        boolean begins = isFirst || (place != Place.STATEMENT && BEFORE_STATEMENTS.contains(text(i - 1)));
        if (place != Place.FUNCTION && (begins ? setsSearchPath(i) : callsSetConfig(i))) {
            return stray(
                    i,
                    "changes search_path, by which a shard's own tables are found: leave it out, or write SET on the function that needs it");
        }
        if (place != Place.FUNCTION && begins) {
            Stray found = checkWhole(i);
            if (found != null) {
                return found;
            }
        }
        return token.isIdentifier() ? checkName(i, token.text()) : null;
    }

    /** Checks a statement that concerns a schema or an extension. */
    private @Nullable Stray checkWhole(int i) {
        if (MAKING.contains(word(i)) && is(i + 1, "schema")) {
            int name = i + 2;
            while (Set.of("if", "not", "exists").contains(word(name))) {
                name++;
            }
            if (!isOwn(name) && !SHARD.matcher(text(name)).matches()) {
                return stray(
                        i,
                        "has %s SCHEMA %s, which all shards of a server would share, and the last one fill: leave it out; every shard has its own schema"
                                .formatted(word(i).toUpperCase(Locale.ROOT), text(name)));
            }
        }
        if (is(i, "create") && is(i + 1, "extension")) {
            int end = i;
            while (end < tokens.size() && !is(end, ";") && !is(end, "schema")) {
                end++;
            }
            if (!is(end, "schema")) {
                return stray(
                        i,
                        "has CREATE EXTENSION without SCHEMA, and would create it in the schema of the first shard: write CREATE EXTENSION IF NOT EXISTS ... SCHEMA public");
            }
        }
        return null;
    }

    private @Nullable Stray checkName(int i, String name) {
        if (followsSchema(i) && isOfExtension() && !SHARD.matcher(name).matches()) {
            return null;
        }
        if (isStray(name) && (is(i + 1, ".") || followsSchema(i))) {
            return names(i, name);
        }
        if (is(i - 1, "schema")
                && Set.of("in", "set", "on").contains(word(i - 2))
                && !EVERYWHERE.contains(name)
                && !isStray(name)
                && !name.equals("public")) {
            return names(i, name);
        }
        if (!is(i + 1, ".") || is(i - 1, ".")) {
            return null;
        }
        if (name.equals(ReferenceChangelog.SCHEMA)) {
            return !ofReference && isWritten(i) ? stray(i, writesReference(name + "." + text(i + 2))) : null;
        }
        boolean isOther = !EVERYWHERE.contains(name) && !name.equals("public") && !name.startsWith("pg_toast");
        boolean isUse = (is(i + 3, "(") && !namesRelation(i)) || is(i - 1, "::");
        return isOther && (namesRelation(i) || (isUse && !allowPublic)) ? names(i, name) : null;
    }

    private boolean isOfExtension() {
        return is(first, "create") && is(first + 1, "extension");
    }

    /** Whether a relation's name begins here, so that its first part is a schema. */
    private boolean namesRelation(int i) {
        String before = word(i - 1);
        return switch (before) {
            case "into" -> place == Place.STATEMENT || Set.of("insert", "merge").contains(word(i - 2));
            case "from" -> !isInsideFrom(i - 1);
            case "exists" -> Set.of("if", "not").contains(word(i - 2));
            case "of" -> is(i - 2, "partition");
            case "on" -> isOnTable(i - 1);
            default -> BEFORE_NAMES.contains(before);
        };
    }

    /** Whether FROM does not begin a clause: {@code IS DISTINCT FROM x.y}, {@code extract(epoch FROM x.y)}. */
    private boolean isInsideFrom(int from) {
        if (is(from - 1, "distinct")) {
            return true;
        }
        int depth = 0;
        for (int i = from - 1; i > first; i--) {
            depth += is(i, ")") ? 1 : is(i, "(") ? -1 : 0;
            if (depth < 0) {
                return FROM_INSIDE.contains(word(i - 1));
            }
        }
        return false;
    }

    /** Whether ON belongs to an index, a trigger, a policy or a rule, and not to a join. */
    private boolean isOnTable(int on) {
        if (!MAKING.contains(word(first))) {
            return false;
        }
        for (int i = first; i < on; i++) {
            if (is(i, "select") || is(i, "join") || is(i, "on")) {
                return false;
            }
        }
        return true;
    }

    /** Whether the table named here is written to or changed. */
    private boolean isWritten(int i) {
        int before = is(i - 1, "only") ? i - 2 : i - 1;
        return switch (word(before)) {
            case "into" -> place == Place.STATEMENT || Set.of("insert", "merge").contains(word(before - 1));
            case "from" -> is(before - 1, "delete");
            case "update", "truncate", "copy" ->
                !Set.of("for", "on", "before", "after", "or").contains(word(before - 1));
            case "exists" -> Set.of("if", "not").contains(word(before - 1)) && MAKING.contains(word(first));
            case "on" -> isOnTable(before);
            case "table", "view", "sequence", "index", "function", "procedure", "type", "domain" ->
                MAKING.contains(word(before - 1))
                        || Set.of("truncate", "materialized", "unlogged", "foreign", "replace")
                                .contains(word(before - 1));
            default -> false;
        };
    }

    private String text(int i) {
        return i >= 0 && i < tokens.size() ? tokens.get(i).text() : "";
    }

    private @Nullable Stray checkString(int i) {
        Token token = tokens.get(i);
        if (isCode(tokens, i)) {
            boolean runsNow = place == Place.DO_BLOCK || (place == Place.STATEMENT && isOfDo(i));
            Place inside = runsNow ? Place.DO_BLOCK : Place.FUNCTION;
            Stray found = new StraySql(SqlTokens.of(token.text()), inside, allowPublic, ofReference).find();
            return found == null ? null : new Stray(token.contents() + found.at(), found.use());
        }
        var qualified = QUALIFIED.matcher(token.text());
        boolean isName = (is(i + 1, "::")
                        && i + 2 < tokens.size()
                        && tokens.get(i + 2).text().startsWith("reg"))
                || (is(i - 1, "(")
                        && i > 1
                        && TAKE_NAMES.contains(tokens.get(i - 2).text()));
        if (isName && qualified.matches() && isStray(qualified.group(1).toLowerCase(Locale.ROOT))) {
            return names(i, qualified.group(1).toLowerCase(Locale.ROOT));
        }
        return followsSchema(i) && isStray(token.text()) ? names(i, token.text()) : null;
    }

    /** Whether SQL that is assembled here at run time may write to a reference table. */
    private boolean writesReference(int execute) {
        boolean writes = false;
        boolean names = false;
        for (int i = execute + 1; i < tokens.size() && !is(i, ";"); i++) {
            if (tokens.get(i).isString()) {
                writes |= WRITES.matcher(tokens.get(i).text()).find();
                names |= NAMES_REFERENCE.matcher(tokens.get(i).text()).find();
            }
        }
        return writes && names;
    }

    /** The first of the given relations that code writes to. */
    static Optional<String> writesTo(String code, Set<String> relations) {
        StraySql sql = new StraySql(SqlTokens.of(code), Place.FUNCTION, true, false);
        for (int i = 0; i < sql.tokens.size(); i++) {
            int before = sql.is(i - 1, ".") ? i - 2 : i;
            if (sql.tokens.get(i).isIdentifier()
                    && relations.contains(sql.tokens.get(i).text())
                    && sql.isWritten(before)) {
                return Optional.of(sql.tokens.get(i).text());
            }
        }
        return Optional.empty();
    }

    static StrayUse writesReference(String table) {
        return new StrayUse(
                "writes to %s, and shards only read reference tables".formatted(table),
                Advice.of("change their rows and tables with %s", CliCommand.REFERENCE_DEPLOY));
    }

    private Stray names(int i, String schema) {
        if (SHARD.matcher(schema).matches()) {
            return stray(
                    i,
                    "names schema %s, and every shard would be given it: leave the schema out, or write ${shard.schema}"
                            .formatted(schema));
        }
        return stray(
                i,
                new StrayUse(
                        "names schema %s, which all shards of a server share: leave the schema out, and the shard's own is meant"
                                .formatted(schema),
                        schema.equals("public") && !ofReference
                                ? Advice.of("if public is meant: %s", CliCommand.SCHEMA_DEPLOY_PUBLIC)
                                : null));
    }

    private Stray stray(int i, String what) {
        return stray(i, new StrayUse(what, null));
    }

    private Stray stray(int i, StrayUse use) {
        return new Stray(tokens.get(i).start(), use);
    }

    private boolean isStray(String schema) {
        return SHARD.matcher(schema).matches() || (!allowPublic && schema.equals("public"));
    }

    /** Whether a schema's name comes next: {@code IN SCHEMA x}, {@code CREATE SCHEMA IF NOT EXISTS x}. */
    private boolean followsSchema(int i) {
        int before = i - 1;
        while (before > 0
                && Set.of("if", "not", "exists").contains(tokens.get(before).text())) {
            before--;
        }
        return is(before, "schema");
    }

    private boolean endsTransaction(int i) {
        return TRANSACTION_CONTROL.contains(word(i)) || (is(i, "prepare") && is(i + 1, "transaction"));
    }

    /**
     * Whether the search_path is set here to anything but the shard's own: {@code SET [LOCAL] search_path}, {@code SET SCHEMA}, {@code RESET}.
     */
    private boolean setsSearchPath(int i) {
        if (is(i, "discard") && is(i + 1, "all")) {
            return true;
        }
        if (is(i, "reset")) {
            return is(i + 1, "search_path") || is(i + 1, "all");
        }
        int name = is(i + 1, "local") || is(i + 1, "session") ? i + 2 : i + 1;
        if (!is(i, "set") || !(is(name, "search_path") || is(name, "schema"))) {
            return false;
        }
        int value = is(name + 1, "=") || is(name + 1, "to") ? name + 2 : name + 1;
        return !isOwn(value);
    }

    private boolean callsSetConfig(int i) {
        return is(i, "set_config")
                && is(i + 1, "(")
                && i + 2 < tokens.size()
                && tokens.get(i + 2).text().equals("search_path")
                && !isOwn(i + 4);
    }

    private boolean isOwn(int value) {
        return value < tokens.size() && tokens.get(value).text().startsWith(ShardChangeSet.TEMPLATE_SCHEMA);
    }

    /** Whether a string is code: the body of a function or a DO block, or SQL that PL/pgSQL executes. */
    static boolean isCode(List<Token> tokens, int i) {
        if (i == 0) {
            return false;
        }
        Token before = tokens.get(i - 1);
        boolean ofLanguage = i > 1
                && tokens.get(i - 2).is("language")
                && i > 2
                && tokens.get(i - 3).is("do");
        return before.is("as") || before.is("do") || before.is("execute") || ofLanguage;
    }

    private boolean isOfDo(int i) {
        return is(i - 1, "do") || is(i - 3, "do");
    }

    private boolean is(int i, String word) {
        return SqlTokens.is(tokens, i, word);
    }

    private String word(int i) {
        return i >= 0 && i < tokens.size() && tokens.get(i).kind() == Kind.WORD
                ? tokens.get(i).text()
                : "";
    }
}
