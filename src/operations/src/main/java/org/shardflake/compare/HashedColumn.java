/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.compare;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A column, and how it contributes to its row's hash.
 *
 * @param name quoted
 * @param type as PostgreSQL names it; empty if it is not PostgreSQL's own
 * @param notNull whether it always has a value
 */
record HashedColumn(String name, String type, boolean notNull) {

    private static final String AS_TEXT = "hashtextextended(%s COLLATE \"C\", %s)";

    /** The hash expression for types whose own hash function is not callable from SQL in all versions. */
    private static final String AS_RECORD = "hash_record_extended(ROW(%s), %s)";

    /**
     * Types whose values are hashed directly; for other types, equal values may differ in text, such as 1.0 and 1.00. PostgreSQL's hash of a
     * bigint, and of a time, which is one, is that of its two halves' exclusive or, so 1 and 1 &lt;&lt; 32 have one hash: the upper half goes
     * into the seed of the one, and the bytes of the other are hashed.
     */
    private static final Map<String, Hash> EXACT = Map.of(
            "smallint", new Hash("hashint2extended(%s, %s)", "0::smallint"),
            "integer", new Hash("hashint4extended(%s, %s)", "0"),
            "bigint", new Hash("hashint8extended(%1$s, %2$s # (%1$s & -4294967296))", "0::bigint"),
            "uuid", new Hash("uuid_hash_extended(%s, %s)", "'00000000-0000-0000-0000-000000000000'::uuid"),
            "timestamp without time zone",
                    new Hash(AS_RECORD.replaceFirst("%s", "timestamp_send(%s)"), "'2000-01-01'::timestamp"),
            "timestamp with time zone",
                    new Hash(AS_RECORD.replaceFirst("%s", "timestamptz_send(%s)"), "'2000-01-01'::timestamptz"),
            "date", new Hash(AS_RECORD, "'2000-01-01'::date"),
            "boolean", new Hash(AS_RECORD, "false"),
            "bytea", new Hash(AS_RECORD, "''::bytea"));

    private static final List<String> TEXTS = List.of("text", "character varying");

    /** The nesting beyond which expressions may need more than PostgreSQL's stack. */
    private static final int DEEPEST = 64;

    /** A number that is the same on all servers that compute the hash in the same way. */
    static final String PROBE = """
            SELECT hashint2extended(17::smallint, hashint4extended(17, hashint8extended(17, hashtextextended('shardflake' COLLATE "C",
                       uuid_hash_extended('00000000-0000-0000-0000-000000000007',
                       hash_record_extended(ROW(true, '2025-01-01'::date, timestamp_send('2025-01-01'), '\\x07'::bytea), 7))))))
            """;

    /**
     * The way a value is hashed.
     *
     * @param function of the value and a seed
     * @param none what stands for null; the seed is another one then
     */
    private record Hash(String function, String none) {}

    /** The column's value, as an expression whose text is the same on all servers. */
    String value() {
        if (type.isEmpty()) {
            // Unlike a cast, which its owner may have made, this calls nothing but the type's output function.
            return "CASE WHEN %1$s IS NOT DISTINCT FROM NULL THEN NULL ELSE concat(%1$s) END".formatted(name);
        }
        return EXACT.containsKey(type) || TEXTS.contains(type) ? name : name + "::text";
    }

    /**
     * SQL for the quick hash of a row. Each column's hash is the seed of the next one's: with one seed for all, two rows that exchange a
     * value keep their sum.
     */
    static String ofRow(List<HashedColumn> columns) {
        if (columns.size() > DEEPEST) {
            List<HashedColumn> parts = new ArrayList<>();
            for (int i = 0; i < columns.size(); i += DEEPEST) {
                String part = ofRow(columns.subList(i, Math.min(i + DEEPEST, columns.size())));
                parts.add(new HashedColumn(part, "bigint", true));
            }
            return ofRow(parts);
        }
        String hash = "0";
        for (HashedColumn column : columns) {
            hash = column.hash(hash);
        }
        return hash;
    }

    private String hash(String seed) {
        Hash hash = EXACT.getOrDefault(type, new Hash(AS_TEXT, "''"));
        if (notNull) {
            return hash.function().formatted(value(), seed);
        }
        return hash.function()
                .formatted(
                        "COALESCE(%s, %s)".formatted(value(), hash.none()),
                        "%s # CASE WHEN %s IS NULL THEN 1::bigint ELSE 0 END".formatted(seed, name));
    }
}
