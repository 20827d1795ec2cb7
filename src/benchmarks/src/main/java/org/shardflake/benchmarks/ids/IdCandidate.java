/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.lang.reflect.Array;
import java.math.BigInteger;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HexFormat;
import java.util.List;
import java.util.function.UnaryOperator;
import org.shardflake.benchmarks.ids.IdCandidate.DatabaseCandidate;
import org.shardflake.jdbc.Sql;
import org.shardflake.scheme.GeneratorSettings;
import org.shardflake.scheme.IdGenerator;
import org.shardflake.scheme.LongIdGenerator;
import org.shardflake.scheme.Scheme;
import org.shardflake.scheme.SchemeDescription;

/** A scheme in the comparison, with its own table, whose ids are made by the database or in Java. */
sealed interface IdCandidate {

    /** The scheme's description. */
    SchemeDescription facts();

    /** The name in the report. */
    default String name() {
        return facts().name();
    }

    /** The schema of its table. */
    String schema();

    /** The candidate's table. */
    default String table() {
        return schema() + ".item";
    }

    /** The index of its ids. */
    default String index() {
        return schema() + ".item_pkey";
    }

    /** The type of the ids. */
    IdType type();

    /** The sizes that the scheme can do in the time that others take. */
    IdSizes limit(IdSizes sizes);

    /**
     * A scheme whose ids come from the DEFAULT of the column.
     *
     * @param prepareTable what the table needs before it has a DEFAULT
     * @param expression makes an id
     */
    record DatabaseCandidate(
            SchemeDescription facts, String schema, IdType type, List<String> prepareTable, String expression)
            implements IdCandidate {

        @Override
        public IdSizes limit(IdSizes sizes) {
            return sizes;
        }
    }

    /**
     * A scheme whose ids an application makes and sends with its rows.
     *
     * @param variant what the settings of its generators differ in
     * @param pace how much it can do
     * @param numberedByHardware whether all generators of a machine take the same node id unless told otherwise
     */
    record JavaCandidate(
            SchemeDescription facts,
            Scheme scheme,
            IdType type,
            UnaryOperator<GeneratorSettings> variant,
            Pace pace,
            boolean numberedByHardware)
            implements IdCandidate {

        /** The limit on a scheme's rate of ids. */
        enum Pace {
            FULL,
            /** The scheme is as fast as any, but ids made in one millisecond can be the same. */
            BY_CHANCE,
            /** 64 ids in a millisecond. */
            BOUNDED,
            /** A commit on another server for each. */
            TICKETS
        }

        @Override
        public IdSizes limit(IdSizes sizes) {
            return switch (pace) {
                case FULL, BY_CHANCE -> sizes;
                case BOUNDED -> sizes.forBoundedPace();
                case TICKETS -> sizes.forTickets();
            };
        }

        @Override
        public String schema() {
            return "bench_" + name().replaceAll("[^a-z0-9]+", "_");
        }

        IdGenerator generator(GeneratorSettings settings) throws SQLException {
            return scheme.generator(variant.apply(settings));
        }

        /** Whether an application has to look for ids that repeat among those it makes at once. */
        boolean isByChance() {
            return pace == Pace.BY_CHANCE;
        }

        /** The next id as the driver takes it. */
        Object next(IdGenerator generator) throws SQLException {
            return generator instanceof LongIdGenerator numbers
                    ? (Object) numbers.nextLong()
                    : type.value(generator.next());
        }
    }

    /** The column type of a scheme's ids, and the conversion from text. */
    enum IdType {
        BIGINT("bigint", Long.class),
        /** Eight bytes, written in 16 hexadecimal digits. */
        HEX_BIGINT("bigint", Long.class),
        UUID("uuid", java.util.UUID.class),
        /** Sixteen bytes in base 62 that aren't a UUID, which the type accepts all the same. */
        BASE62_UUID("uuid", java.util.UUID.class),
        /** Twelve bytes, for which there is no type. */
        HEX_BYTEA("bytea", byte[].class);

        private static final String BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        /** 62 to the power of 10 fits a long. */
        private static final int DIGITS_AT_ONCE = 10;

        private final String column;
        private final Class<?> type;

        IdType(String column, Class<?> type) {
            this.column = column;
            this.type = type;
        }

        private static java.util.UUID ofBase62(String id) {
            BigInteger value = BigInteger.ZERO;
            for (int from = 0; from < id.length(); from += DIGITS_AT_ONCE) {
                int to = Math.min(id.length(), from + DIGITS_AT_ONCE);
                long part = 0;
                long power = 1;
                for (int i = from; i < to; i++) {
                    part = part * 62 + BASE62.indexOf(id.charAt(i));
                    power *= 62;
                }
                value = value.multiply(BigInteger.valueOf(power)).add(BigInteger.valueOf(part));
            }
            return new java.util.UUID(value.shiftRight(64).longValue(), value.longValue());
        }

        /** The type of the column. */
        String column() {
            return column;
        }

        /** The type of the column as {@link java.sql.Connection#createArrayOf} calls it. */
        String element() {
            return column.equals("bigint") ? "int8" : column;
        }

        /** Room for so many ids; the driver takes no mixed arrays. */
        Object[] array(int length) {
            return (Object[]) Array.newInstance(type, length);
        }

        /** An id as the driver takes it. */
        Object value(String id) {
            return switch (this) {
                case BIGINT -> Long.valueOf(id);
                case HEX_BIGINT -> HexFormat.fromHexDigitsToLong(id);
                case UUID -> java.util.UUID.fromString(id);
                case BASE62_UUID -> ofBase62(id);
                case HEX_BYTEA -> HexFormat.of().parseHex(id);
            };
        }
    }

    /** The tables of the candidates, all alike but for the id. */
    static final class Tables {

        private Tables() {}

        /** Makes the table of a candidate, empty, in place of the one that was there. */
        static void create(Connection connection, IdCandidate candidate) throws SQLException {
            Sql.execute(connection, """
                    CREATE SCHEMA IF NOT EXISTS %1$s;
                    DROP TABLE IF EXISTS %2$s;
                    CREATE TABLE %2$s (
                        id %3$s PRIMARY KEY,
                        uid bigint NOT NULL,
                        title text NOT NULL,
                        created_at timestamptz NOT NULL DEFAULT clock_timestamp()
                    )""".formatted(
                    candidate.schema(), candidate.table(), candidate.type().column()));
            if (candidate instanceof DatabaseCandidate database) {
                for (String prepare : database.prepareTable()) {
                    Sql.execute(connection, prepare);
                }
                Sql.execute(
                        connection,
                        "ALTER TABLE %s ALTER COLUMN id SET DEFAULT %s"
                                .formatted(database.table(), database.expression()));
            }
        }

        /** Bytes of an id in a row, with what the type adds to it. */
        static int bytesOfId(Connection connection, IdCandidate candidate) throws SQLException {
            return Math.toIntExact(Sql.number(connection, "SELECT max(pg_column_size(id)) FROM " + candidate.table()));
        }
    }
}
