/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Optional;
import org.shardflake.DeployedLayout;
import org.shardflake.IdLayout;

/**
 * Shardflake: milliseconds, a shard, a sequence, made by PostgreSQL from one sequence that holds both time and count.
 *
 * <p>Ids of one table in one shard never repeat and always increase, whatever the clock does. {@link IdLayout}
 * describes the bits.
 */
final class ShardflakeScheme extends NumericScheme {

    static final ShardflakeScheme PUBLISHED = new ShardflakeScheme(IdLayout.DEFAULT);

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "shardflake",
            "Shardflake",
            "1 zero | 40 milliseconds since 2025-01-01 | 13 shard | 10 sequence",
            "src/docs/guide/ids.md",
            64,
            true,
            true,
            false,
            false,
            false,
            ClockStep.COUNTS_ON);

    private static final int USUAL_SHARDS = 2000;

    private final IdLayout layout;

    private ShardflakeScheme(IdLayout layout) {
        this.layout = layout;
    }

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    public Scheme withEpoch(Instant epoch) {
        return new ShardflakeScheme(new IdLayout(epoch.toEpochMilli()));
    }

    @Override
    ExplainedId explain(String text, long id) {
        return new Explanation(text)
                .time(layout.timeMillis(id))
                .field("shard", IdLayout.shard(id))
                .field("sequence", IdLayout.sequence(id))
                .warnIf(id < 0, "the top bit is set, which ids of Shardflake never have")
                .done();
    }

    @Override
    Optional<Guess> judge(ExplainedId explained, long id, Instant now) {
        if (id < 0) {
            return Optional.of(new Guess(this, 1, "negative, which its ids never are", explained));
        }
        boolean usual = IdLayout.shard(id) < USUAL_SHARDS;
        return Optional.of(Plausibility.byTime(
                this,
                explained,
                layout.epoch().plusSeconds(86_400),
                now,
                usual ? 70 : 50,
                usual ? ", and its shard is below 2000, as is usual" : ""));
    }

    /**
     * Calls {@code shardflake.next_id} in the first database, where the function library and the shard have to be.
     *
     * @throws IllegalArgumentException if the shard is out of range 0..8191
     * @throws org.shardflake.LibraryNotDeployedException if the function library is not there
     */
    @Override
    public LongIdGenerator generator(GeneratorSettings settings) throws SQLException {
        int shard = checkShard(settings.shard());
        try (Connection connection = settings.dataSource(name()).getConnection()) {
            DeployedLayout.read(connection);
        }
        return new StatementGenerator(
                settings.dataSource(name()), "1", new String[0], "SELECT shardflake.next_id(%s)".formatted(shard));
    }

    static int checkShard(int shard) {
        if (shard < 0 || shard > IdLayout.MAX_SHARD) {
            throw new IllegalArgumentException("shard %s is out of range 0..%s".formatted(shard, IdLayout.MAX_SHARD));
        }
        return shard;
    }
}
