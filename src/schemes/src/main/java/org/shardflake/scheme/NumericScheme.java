/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.time.Instant;
import java.util.Optional;
import org.shardflake.ShardflakeId;

/** A scheme whose ids are decimal numbers of 64 bits, signed or unsigned. */
abstract class NumericScheme implements Scheme {

    @Override
    public final ExplainedId decode(String id) {
        return explain(id, parse(id));
    }

    @Override
    public final Optional<Guess> guess(String id, Instant now) {
        try {
            long value = parse(id);
            return judge(explain(id, value), value, now);
        } catch (MalformedIdException e) {
            return Optional.empty();
        }
    }

    /** The number that a text represents. */
    long parse(String id) {
        try {
            return ShardflakeId.parse(id).value();
        } catch (NumberFormatException e) {
            throw new MalformedIdException(
                    name(), "%s; ids of %s are decimal numbers".formatted(e.getMessage(), name()));
        }
    }

    abstract ExplainedId explain(String text, long id);

    abstract Optional<Guess> judge(ExplainedId explained, long id, Instant now);
}
