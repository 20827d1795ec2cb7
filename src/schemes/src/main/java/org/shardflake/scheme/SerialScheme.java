/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.SQLException;
import java.time.Instant;
import java.util.Optional;

/**
 * {@code bigserial} and identity columns: the next number of a sequence of one database.
 *
 * <p>Transactions that roll back leave gaps, and sequences with a cache leave more. Two databases count the same
 * numbers, so their rows cannot be merged. Source: PostgreSQL's manual, CREATE SEQUENCE, <a
 * href="https://www.postgresql.org/docs/current/sql-createsequence.html">postgresql.org</a>.
 */
final class SerialScheme extends NumericScheme {

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "serial",
            "bigserial and identity columns",
            "a number that counts up, 64 bits",
            "https://www.postgresql.org/docs/current/sql-createsequence.html",
            64,
            true,
            false,
            false,
            true,
            false,
            ClockStep.NO_CLOCK);

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    ExplainedId explain(String text, long id) {
        return new Explanation(text)
                .field("number", Long.toString(id))
                .warnIf(id < 1, "sequences count from 1 unless told otherwise")
                .done();
    }

    @Override
    Optional<Guess> judge(ExplainedId explained, long id, Instant now) {
        return Optional.of(judge(this, explained, id, 90));
    }

    /** Judges a number by its size: few tables have passed a million million, and larger numbers usually have a structure. */
    static Guess judge(Scheme scheme, ExplainedId explained, long id, int best) {
        if (id < 1) {
            return new Guess(scheme, 1, "not positive", explained);
        }
        if (id <= Integer.MAX_VALUE) {
            return new Guess(scheme, best, "a small number", explained);
        }
        return id < 1_000_000_000_000L
                ? new Guess(scheme, best / 2, "a number that a large table can have come to", explained)
                : new Guess(scheme, 2, "too large for a count", explained);
    }

    /** Draws from a sequence in the first database, {@code shardflake_scheme.serial_seq}, which is created on first use. */
    @Override
    public LongIdGenerator generator(GeneratorSettings settings) throws SQLException {
        return new StatementGenerator(
                settings.dataSource(name()),
                "to_regclass('shardflake_scheme.serial_seq')",
                new String[] {"CREATE SEQUENCE IF NOT EXISTS shardflake_scheme.serial_seq"},
                "SELECT nextval('shardflake_scheme.serial_seq')");
    }
}
