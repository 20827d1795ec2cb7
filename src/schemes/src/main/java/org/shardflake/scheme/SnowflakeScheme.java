/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.SQLException;
import java.time.Instant;
import java.util.Optional;

/**
 * Twitter's Snowflake of 2010: milliseconds, 5 bits for a data center, 5 for a worker in it, and a sequence.
 *
 * <p>The sequence begins at 0 in each millisecond that has ids, so most ids of a quiet server end in 12 zero bits.
 * After 4096 ids it waits for the next millisecond, however long the clock takes. It refuses if the clock is behind the
 * last id. It remembers nothing across a restart; at start Twitter's servers compared their clocks with their peers'.
 * Twitter's claimed workers in ZooKeeper; here they are claimed in PostgreSQL, as data center * 32 + worker. Source:
 * the release <i>snowflake-2010</i>, <a
 * href="https://github.com/twitter-archive/snowflake/tree/snowflake-2010">github.com</a>.
 */
final class SnowflakeScheme extends NumericScheme {

    static final SnowflakeScheme PUBLISHED = new SnowflakeScheme(1_288_834_974_657L);

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "snowflake",
            "Twitter's Snowflake",
            "1 zero | 41 milliseconds since 2010-11-04T01:42:54.657Z | 5 data center | 5 worker | 12 sequence",
            "https://github.com/twitter-archive/snowflake/tree/snowflake-2010",
            64,
            true,
            false,
            true,
            true,
            false,
            ClockStep.REFUSES);

    private final SnowflakeLayout layout;

    private SnowflakeScheme(long epochMillis) {
        this.layout = new SnowflakeLayout(epochMillis);
    }

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    public Scheme withEpoch(Instant epoch) {
        return new SnowflakeScheme(epoch.toEpochMilli());
    }

    @Override
    ExplainedId explain(String text, long id) {
        int node = SnowflakeLayout.node(id);
        return new Explanation(text)
                .time(layout.timeMillis(id))
                .field("dataCenter", node >> 5)
                .field("worker", node & 31)
                .field("sequence", SnowflakeLayout.sequence(id))
                .warnIf(id < 0, "the sign bit is set, which the scheme leaves zero")
                .done();
    }

    @Override
    Optional<Guess> judge(ExplainedId explained, long id, Instant now) {
        return Optional.of(judge(this, explained, layout, id, now, 60));
    }

    static Guess judge(Scheme scheme, ExplainedId explained, SnowflakeLayout layout, long id, Instant now, int best) {
        // Any number up to 400 million million decodes to a time within a day of the epoch.
        Instant from = Instant.ofEpochMilli(layout.epochMillis()).plusSeconds(86_400);
        boolean first = SnowflakeLayout.sequence(id) == 0;
        return Plausibility.byTime(
                scheme,
                explained,
                from,
                now,
                first ? best + 15 : best,
                first ? ", and its sequence is 0, as most are" : "");
    }

    @Override
    public LongIdGenerator generator(GeneratorSettings settings) throws SQLException {
        Worker worker = Worker.of(name(), settings, 0, SnowflakeLayout.MAX_NODE);
        return new SnowflakeGenerator(name(), layout, worker, settings.clock(), SnowflakeGenerator.Wait.UNTIL_LATER);
    }
}
