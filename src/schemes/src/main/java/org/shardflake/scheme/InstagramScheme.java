/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.SQLException;
import java.time.Instant;
import java.util.Optional;
import org.shardflake.IdLayout;

/**
 * Instagram's PostgreSQL function of 2011: milliseconds, a logical shard, and a sequence modulo 1024.
 *
 * <p>It reads a sequence and then the clock. If a session stalls in between while 1024 others draw, if more than 1024
 * ids are made in a millisecond, or if the clock steps back, ids repeat unnoticed. The function as posted has
 * {@code %% 1024}, which PostgreSQL rejects; {@code %} is meant. The article counts from 2011-01-01 and says 41 years;
 * the function's epoch is 2011-08-24T21:07:01.721Z, and positive ids last 34.8. Source: Instagram's engineering blog,
 * <a href="https://instagram-engineering.com/sharding-ids-at-instagram-1cf5a71e5a5c">instagram-engineering.com</a>.
 */
final class InstagramScheme extends NumericScheme {

    static final InstagramScheme PUBLISHED = new InstagramScheme(1_314_220_021_721L);

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "instagram",
            "Instagram's function",
            "41 milliseconds since 2011-08-24T21:07:01.721Z | 13 shard | 10 sequence",
            "https://instagram-engineering.com/sharding-ids-at-instagram-1cf5a71e5a5c",
            64,
            true,
            true,
            false,
            false,
            false,
            ClockStep.REPEATS);

    private static final String BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    private static final int MAX_SHORTCODE = 11;

    private final IdLayout layout;

    private InstagramScheme(long epochMillis) {
        this.layout = new IdLayout(epochMillis);
    }

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    public Scheme withEpoch(Instant epoch) {
        return new InstagramScheme(epoch.toEpochMilli());
    }

    /** Parses a number, or a shortcode from a URL: the number in base 64, in the alphabet of base64url. */
    @Override
    long parse(String id) {
        return isShortcode(id) ? ofShortcode(id) : super.parse(id);
    }

    private static boolean isShortcode(String id) {
        return !id.isEmpty()
                && id.length() <= MAX_SHORTCODE
                && id.chars().allMatch(c -> BASE64.indexOf(c) >= 0)
                && id.chars().anyMatch(Character::isLetter);
    }

    /** Parses a shortcode; its 11 characters have 66 bits, and those above 64 are dropped, as in the original computation. */
    private static long ofShortcode(String id) {
        return id.chars().asLongStream().reduce(0, (value, c) -> value << 6 | BASE64.indexOf((int) c));
    }

    @Override
    ExplainedId explain(String text, long id) {
        return new Explanation(text)
                .time(layout.timeMillis(id))
                .field("shard", IdLayout.shard(id))
                .field("sequence", IdLayout.sequence(id))
                .warnIf(id < 0, "the top bit is set: in a bigint it is negative and sorts before older ids")
                .done();
    }

    @Override
    Optional<Guess> judge(ExplainedId explained, long id, Instant now) {
        boolean shortcode = isShortcode(explained.text());
        return Optional.of(Plausibility.byTime(
                this,
                explained,
                layout.epoch().plusSeconds(86_400),
                now,
                shortcode ? 80 : 55,
                shortcode ? ", and it looks like a short code" : ""));
    }

    /**
     * Creates the function in the first database, on first use, as {@code shardflake_scheme.instagram_1341()}, with a
     * sequence beside it. It takes {@code clock_timestamp} from the search path.
     *
     * @throws IllegalArgumentException if the shard is out of range 0..8191
     */
    @Override
    public LongIdGenerator generator(GeneratorSettings settings) throws SQLException {
        int shard = ShardflakeScheme.checkShard(settings.shard());
        String name = "shardflake_scheme.instagram_" + shard;
        if (layout.epochMillis() != PUBLISHED.layout.epochMillis()) {
            name += "_" + layout.epochMillis();
        }
        return new StatementGenerator(
                settings.dataSource(name()),
                "to_regproc('%s')".formatted(name),
                new String[] {"CREATE SEQUENCE IF NOT EXISTS %s_seq".formatted(name), function(name, shard)},
                "SELECT %s()".formatted(name));
    }

    private String function(String name, int shard) {
        return """
                CREATE OR REPLACE FUNCTION %1$s() RETURNS bigint LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
                DECLARE
                    v_sequence bigint;
                    v_ms bigint;
                BEGIN
                    SELECT nextval('%1$s_seq') %% 1024 INTO v_sequence;
                    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) INTO v_ms;
                    RETURN ((v_ms - %2$s) << 23) | (%3$s << 10) | v_sequence;
                END
                $$
                """.formatted(name, layout.epochMillis(), shard);
    }
}
