/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import org.shardflake.Sharding;

/**
 * Computes a row's shard in SQL without the function library, equal to {@code Sharding.shard} of {@code ShardKey}, and in the same way whatever the search
 * path is.
 */
record KeyExpression(Column key, int shardCount) {

    /** The first 8 bytes of a SHA-256 hash, as in {@code ShardKey.hash}. */
    private static final String HASH =
            "('x' OPERATOR(pg_catalog.||) pg_catalog.encode(pg_catalog.substr(pg_catalog.sha256(%s), 1, 8), 'hex'))::bit(64)::bigint";

    /** @throws AdoptRefusedException if a key of this type has no uid */
    static KeyExpression of(Column key, Sharding sharding) {
        KeyExpression expression = new KeyExpression(key, sharding.shardCount());
        expression.of("t");
        return expression;
    }

    /** @param row the name of a row: {@code t}, {@code NEW} */
    String of(String row) {
        String uid = uid(row + "." + key.quoted());
        return Integer.bitCount(shardCount) == 1
                ? "(%s OPERATOR(pg_catalog.&) %s)".formatted(uid, shardCount - 1) // one function in place of three
                : "pg_catalog.mod(pg_catalog.mod(%1$s, %2$s) OPERATOR(pg_catalog.+) %2$s, %2$s)"
                        .formatted(uid, shardCount);
    }

    private String uid(String value) {
        String type = key.type().replaceFirst("\\(.*", "");
        return switch (type) {
            case "smallint", "integer", "bigint" -> value + "::bigint";
            case "uuid" -> HASH.formatted("pg_catalog.uuid_send(" + value + ")");
            case "text", "character varying" -> HASH.formatted("pg_catalog.convert_to(" + value + ", 'UTF8')");
            default ->
                throw new AdoptRefusedException(
                        "column %s is of type %s, from which no uid can be derived".formatted(key.name(), key.type()),
                        "a sharding key is a smallint, integer, bigint, text, character varying or uuid");
        };
    }
}
