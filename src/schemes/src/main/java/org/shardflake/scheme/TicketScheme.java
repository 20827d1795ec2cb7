/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.time.Instant;
import java.util.Optional;

/**
 * Flickr's ticket servers: two databases that only hand out numbers, odd and even ones, used in turn.
 *
 * <p>Either may be down; the other then continues alone and the two drift apart, so numbers do not sort by time.
 * Flickr's were MySQL, with an increment of 2, offsets 1 and 2, and a table of one row that each ticket replaces. Here
 * each is PostgreSQL, with a sequence of increment 2 and an upsert. Source: Flickr's blog, 2010, <a
 * href="https://code.flickr.net/2010/02/08/ticket-servers-distributed-unique-primary-keys-on-the-cheap/">code.flickr.net</a>.
 */
final class TicketScheme extends NumericScheme {

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "tickets",
            "Flickr's ticket servers",
            "a number that counts up by 2, odd from one server, even from the other",
            "https://code.flickr.net/2010/02/08/ticket-servers-distributed-unique-primary-keys-on-the-cheap/",
            64,
            false,
            false,
            false,
            true,
            true,
            ClockStep.NO_CLOCK);

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    ExplainedId explain(String text, long id) {
        return new Explanation(text)
                .field("number", Long.toString(id))
                .field("server", id % 2 == 0 ? 2 : 1)
                .warnIf(id < 1, "ticket servers count from 1")
                .done();
    }

    @Override
    Optional<Guess> judge(ExplainedId explained, long id, Instant now) {
        return Optional.of(SerialScheme.judge(this, explained, id, 30));
    }

    /**
     * Uses two databases in turn; the first one gives odd numbers.
     *
     * @throws IllegalArgumentException if there are not two
     */
    @Override
    public LongIdGenerator generator(GeneratorSettings settings) {
        if (settings.dataSources().size() != 2) {
            throw new IllegalArgumentException("scheme tickets needs two servers, not %s"
                    .formatted(settings.dataSources().size()));
        }
        return new TicketGenerator(
                new TicketServer(settings.dataSources().get(0), 1, settings.clock()),
                new TicketServer(settings.dataSources().get(1), 2, settings.clock()));
    }
}
