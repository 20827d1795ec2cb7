/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.time.Instant;
import java.util.HexFormat;
import java.util.Optional;
import java.util.UUID;

/**
 * UUID version 4: 122 random bits.
 *
 * <p>Needs nothing and reveals nothing; each lands anywhere in an index. Source: RFC 9562, section 5.4, <a
 * href="https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-4">rfc-editor.org</a>.
 */
final class UuidV4Scheme implements Scheme {

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "uuidv4",
            "UUID version 4",
            "48 random | 4 version | 12 random | 2 variant | 62 random",
            "https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-4",
            128,
            false,
            false,
            false,
            false,
            false,
            ClockStep.NO_CLOCK);

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    public ExplainedId decode(String id) {
        UUID uuid = UuidText.parse(name(), id, 4);
        HexFormat hex = HexFormat.of();
        long high = uuid.getMostSignificantBits();
        String random = hex.toHexDigits(high >>> 16, 12)
                + hex.toHexDigits(high & 0xfff, 3)
                + hex.toHexDigits(uuid.getLeastSignificantBits() & (-1L >>> 2));
        return new Explanation(id).field("random", random).done();
    }

    @Override
    public Optional<Guess> guess(String id, Instant now) {
        try {
            return Optional.of(new Guess(this, 95, "a UUID of version 4", decode(id)));
        } catch (MalformedIdException e) {
            return Optional.empty();
        }
    }

    @Override
    public IdGenerator generator(GeneratorSettings settings) {
        return () -> UuidText.of(
                        4, settings.random().nextLong(), settings.random().nextLong())
                .toString();
    }
}
