/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.sqltext;

import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Tells SQL that leaves its session unchanged from SQL that may not.
 *
 * <p>Not a parser: it knows everyday statements and functions, and assumes that any other leaves traces. A wrong yes
 * costs a round trip. It does not see calls by triggers, views and policies.
 */
public final class SqlEffects {

    /** Some hundred bytes each, one text per shard. */
    private static final int MOST = 20_000;

    private static final Map<String, Facts> KNOWN = new ConcurrentHashMap<>();

    /**
     * What a text tells.
     *
     * @param written the table that it writes to, if it is one everyday INSERT, UPDATE or DELETE
     */
    public record Facts(Effect effect, @Nullable WrittenTable written) {}

    /** What a text may change. */
    public enum Effect {
        NONE,
        /** The locks that the transaction holds, or whether its writes meet fences. */
        LOCKS,
        /** The search_path, until the transaction ends, and perhaps {@link #LOCKS}. */
        PATH,
        SESSION
    }

    private static final Set<String> STATEMENTS = words(
            "SELECT INSERT UPDATE DELETE MERGE WITH VALUES TABLE SHOW EXPLAIN SAVEPOINT RELEASE ROLLBACK COMMIT END ABORT LOCK COPY",
            "NOTIFY TRUNCATE ANALYZE VACUUM FETCH MOVE CLOSE");

    /** Statements that give up a transaction's locks, or make that possible. */
    private static final Set<String> RELEASES = words("SAVEPOINT ROLLBACK COMMIT END ABORT");

    /** Words after SET that limit it to its transaction. */
    private static final Set<String> SET_IN_TRANSACTION = words("LOCAL TRANSACTION CONSTRAINTS");

    /** Words after SET LOCAL that are the search_path, or may be: U&"...". */
    private static final Set<String> PATH_SETTINGS = words("SEARCH_PATH SCHEMA U");

    /** Words that only statements that leave traces need. */
    private static final Set<String> TRACES = words("TEMP TEMPORARY PG_TEMP PG_SETTINGS CHAIN");

    /** After these a parenthesis opens a list of columns: INTO photo (id), AS photo (id), WITH photo (id). */
    private static final Set<String> BEFORE_NAME = words("INTO AS WITH RECURSIVE");

    private static final Set<String> SCHEMAS = words("PG_CATALOG SHARDFLAKE");

    /** Words and functions that a parenthesis may follow. */
    private static final Set<String> HARMLESS = words(
            "ALL ANALYZE AND ANY ARRAY AS ASC BETWEEN BY CASE CAST COLLATE CONFLICT CROSS CUBE DESC DISTINCT ELSE END EXCEPT EXISTS",
            "EXPLAIN FETCH FILTER FROM FULL GROUP GROUPING HAVING ILIKE IN INNER INTERSECT IS ISNULL JOIN KEY LATERAL LEFT LIKE LIMIT",
            "MATCHED MATERIALIZED NATURAL NOT NOTNULL OF OFFSET ON ONLY OR ORDER OUTER OVER OVERLAPS PARTITION RANGE RECURSIVE",
            "RETURNING RIGHT ROLLUP ROW ROWS SELECT SET SETS SIMILAR SOME SYMMETRIC TABLE THEN TO UNION UPDATE USING VALUES WHEN WHERE",
            "WINDOW WITH WITHIN COPY",
            "BIT BPCHAR CHAR CHARACTER DECIMAL FLOAT INTERVAL NUMERIC PRECISION TIME TIMESTAMP TIMESTAMPTZ TIMETZ VARBIT VARCHAR VARYING",
            "ANY_VALUE ARRAY_AGG AVG BIT_AND BIT_OR BOOL_AND BOOL_OR COUNT EVERY JSON_AGG JSON_OBJECT_AGG JSONB_AGG JSONB_OBJECT_AGG MAX",
            "MIN MODE PERCENTILE_CONT PERCENTILE_DISC STDDEV STRING_AGG SUM VARIANCE",
            "CUME_DIST DENSE_RANK FIRST_VALUE LAG LAST_VALUE LEAD NTH_VALUE NTILE PERCENT_RANK RANK ROW_NUMBER",
            "COALESCE GREATEST LEAST NULLIF NUM_NULLS",
            "AGE CLOCK_TIMESTAMP CURRENT_TIME CURRENT_TIMESTAMP DATE DATE_BIN DATE_PART DATE_TRUNC EXTRACT LOCALTIME LOCALTIMESTAMP",
            "MAKE_DATE MAKE_INTERVAL MAKE_TIMESTAMP MAKE_TIMESTAMPTZ NOW STATEMENT_TIMESTAMP TIMEZONE TO_CHAR TO_DATE TO_NUMBER",
            "TO_TIMESTAMP TRANSACTION_TIMESTAMP",
            "ASCII BTRIM CHAR_LENGTH CHR CONCAT CONCAT_WS DECODE ENCODE FORMAT INITCAP LENGTH LOWER LPAD LTRIM MD5 OCTET_LENGTH OVERLAY",
            "POSITION QUOTE_IDENT QUOTE_LITERAL QUOTE_NULLABLE REGEXP_COUNT REGEXP_LIKE REGEXP_MATCH REGEXP_MATCHES REGEXP_REPLACE",
            "REGEXP_SPLIT_TO_ARRAY REGEXP_SPLIT_TO_TABLE REGEXP_SUBSTR REPEAT REPLACE REVERSE RPAD RTRIM SHA256 SHA512 SPLIT_PART",
            "STARTS_WITH STRING_TO_ARRAY STRING_TO_TABLE STRPOS SUBSTR SUBSTRING TRANSLATE TRIM UPPER",
            "ABS CEIL CEILING DIV EXP FLOOR GCD LN LOG MOD PI POWER RANDOM ROUND SIGN SQRT TRUNC WIDTH_BUCKET",
            "ARRAY_APPEND ARRAY_CAT ARRAY_LENGTH ARRAY_POSITION ARRAY_PREPEND ARRAY_REMOVE ARRAY_REPLACE ARRAY_TO_STRING CARDINALITY",
            "GENERATE_SERIES UNNEST",
            "JSON_ARRAY_ELEMENTS JSON_ARRAY_ELEMENTS_TEXT JSON_BUILD_ARRAY JSON_BUILD_OBJECT JSON_TO_RECORDSET JSONB_ARRAY_ELEMENTS",
            "JSONB_ARRAY_ELEMENTS_TEXT JSONB_ARRAY_LENGTH JSONB_BUILD_ARRAY JSONB_BUILD_OBJECT JSONB_EACH JSONB_EACH_TEXT",
            "JSONB_EXTRACT_PATH_TEXT JSONB_INSERT JSONB_OBJECT_KEYS JSONB_PATH_EXISTS JSONB_PATH_QUERY JSONB_POPULATE_RECORD JSONB_SET",
            "JSONB_STRIP_NULLS JSONB_TO_RECORDSET JSONB_TYPEOF ROW_TO_JSON TO_JSON TO_JSONB",
            "PLAINTO_TSQUERY SETWEIGHT TO_TSQUERY TO_TSVECTOR TS_HEADLINE TS_RANK WEBSEARCH_TO_TSQUERY",
            "CURRENT_SETTING CURRVAL GEN_RANDOM_UUID HASHTEXT HASHTEXTEXTENDED NEXTVAL PG_ADVISORY_XACT_LOCK PG_BACKEND_PID",
            "PG_CURRENT_XACT_ID PG_NOTIFY PG_SLEEP PG_TRY_ADVISORY_XACT_LOCK TO_REGCLASS TXID_CURRENT UUIDV4 UUIDV7 VERSION",
            "BASE32_TO_ID ID_SEQUENCE ID_SHARD ID_TIMESTAMP ID_TO_BASE32 ID_TO_PUBLIC ID_TO_SHORTCODE KEY_HASH MAX_ID MIN_ID NEXT_ID",
            "NEXT_IDS PUBLIC_TO_ID SHARD_SCHEMA SHORTCODE_TO_ID");

    private final String sql;
    private int at;
    private String word = "";
    private String qualifier = "";
    private boolean isName;
    private boolean isStart = true;
    private boolean isSet;
    private boolean isSetLocal;
    private boolean setsPath;
    private boolean changesLocks;

    private SqlEffects(String sql) {
        this.sql = sql;
    }

    private static Set<String> words(String... lines) {
        return Set.copyOf(Arrays.asList(String.join(" ", lines).split(" ")));
    }

    /** What the statements of this text may change, and write to. */
    public static Facts facts(String sql) {
        Facts known = KNOWN.get(sql);
        if (known != null) {
            return known;
        }
        Facts found = new Facts(new SqlEffects(sql).effect(), WrittenTable.of(sql));
        if (KNOWN.size() >= MOST) {
            KNOWN.clear();
        }
        KNOWN.put(sql, found);
        return found;
    }

    /** Whether a word in upper case is one that a parenthesis may follow without leaving traces. */
    static boolean isEveryday(String word) {
        return HARMLESS.contains(word);
    }

    private Effect effect() {
        while (at < sql.length()) {
            if (!next(sql.charAt(at))) {
                return Effect.SESSION;
            }
        }
        if (isSet) {
            return Effect.SESSION;
        }
        if (setsPath) {
            return Effect.PATH;
        }
        return changesLocks ? Effect.LOCKS : Effect.NONE;
    }

    /** Moves past the next token; false if that means there may be traces. */
    private boolean next(char c) {
        if (Character.isWhitespace(c)) {
            at++;
            return true;
        }
        if (sql.startsWith("--", at)) {
            at = Math.min(endOf("\n"), endOf("\r"));
            return true;
        }
        if (sql.startsWith("/*", at)) {
            return skipComment();
        }
        if (Character.isJavaIdentifierStart(c) && c != '$') {
            return word();
        }
        if (isSet) {
            return false;
        }
        return switch (c) {
            case '\'' -> string(word.equals("E"));
            case '"' -> quotedName();
            case '$' -> dollar();
            case '(' -> parenthesis();
            case ';' -> {
                at++;
                forget();
                isStart = true;
                yield true;
            }
            // JDBC's escapes call functions too.
            case '{', '}' -> false;
            case '.' -> {
                at++;
                qualifier = word;
                word = ".";
                yield true;
            }
            default -> {
                at++;
                forget();
                yield true;
            }
        };
    }

    private void forget() {
        word = "";
        qualifier = "";
        isName = false;
    }

    /** The position after the next occurrence of {@code end}, or the end of the text. */
    private int endOf(String end) {
        int found = sql.indexOf(end, at);
        return found < 0 ? sql.length() : found + end.length();
    }

    /** Skips a comment; false if comments may be nested, since nesting is not counted. */
    private boolean skipComment() {
        int begin = at + 2;
        at = begin;
        at = endOf("*/");
        return sql.indexOf("/*", begin) < 0 || sql.indexOf("/*", begin) >= at;
    }

    private boolean word() {
        int begin = at;
        while (at < sql.length() && Character.isJavaIdentifierPart(sql.charAt(at))) {
            at++;
        }
        return word(sql.substring(begin, at).toUpperCase(Locale.ROOT));
    }

    private boolean word(String found) {
        if (isSet) {
            isSet = false;
            isSetLocal = found.equals("LOCAL");
            return SET_IN_TRANSACTION.contains(found);
        }
        if (isSetLocal) {
            setsLocal(found);
        }
        if (isStart) {
            isStart = false;
            isSet = found.equals("SET");
            changesLocks |= RELEASES.contains(found);
            return isSet || (STATEMENTS.contains(found) && named(found));
        }
        return !TRACES.contains(found) && named(found);
    }

    private void setsLocal(String setting) {
        isSetLocal = false;
        setsPath |= PATH_SETTINGS.contains(setting);
        changesLocks |= setting.equals("SESSION_REPLICATION_ROLE");
    }

    private boolean named(String found) {
        if (word.equals(".")) {
            word = found;
            return true;
        }
        isName = BEFORE_NAME.contains(word);
        qualifier = "";
        word = found;
        return true;
    }

    private boolean quotedName() {
        int begin = ++at;
        at = endOf("\"");
        isStart = false;
        String name = sql.substring(begin, Math.max(begin, at - 1));
        if (isSetLocal) {
            setsLocal(name.toUpperCase(Locale.ROOT));
        }
        return !name.equals("pg_temp") && !name.equals("pg_settings") && named('"' + name);
    }

    private boolean string(boolean hasEscapes) {
        at = endOfString(sql, at, hasEscapes);
        forget();
        return at >= 0;
    }

    /**
     * The position after the string that begins at a position, which may be past the end of the text; negative if its
     * meaning depends on standard_conforming_strings.
     */
    static int endOfString(String sql, int begin, boolean hasEscapes) {
        int at = begin + 1;
        while (at < sql.length() && sql.charAt(at) != '\'') {
            if (sql.charAt(at) == '\\') {
                if (!hasEscapes) {
                    return -1;
                }
                at++;
            }
            at++;
        }
        return at + 1;
    }

    private boolean dollar() {
        int tagEnd = sql.indexOf('$', at + 1);
        if ((at + 1 < sql.length() && Character.isDigit(sql.charAt(at + 1))) || tagEnd < 0) {
            at++;
            return true;
        }
        String tag = sql.substring(at, tagEnd + 1);
        at = tagEnd + 1;
        at = endOf(tag);
        forget();
        return true;
    }

    private boolean parenthesis() {
        at++;
        boolean isList = isName || word.isEmpty();
        boolean harmless = isList
                || (HARMLESS.contains(word)
                        && (qualifier.isEmpty() || SCHEMAS.contains(qualifier) || isShard(qualifier)));
        forget();
        return harmless;
    }

    private static boolean isShard(String name) {
        return name.startsWith("SHARD_") || name.startsWith("\"shard_");
    }
}
