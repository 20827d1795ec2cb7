/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.flyway;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A migration's version, which Flyway compares number by number: 1, 01 and 1.0 are the same.
 *
 * @param parts its numbers, without zeros at the end
 */
record FlywayVersion(List<BigInteger> parts) implements Comparable<FlywayVersion> {

    private static final Pattern FORMAT = Pattern.compile("[0-9]+([._][0-9]+)*");

    /** Parses a version, numbers separated by dots or underscores; empty for any other text. */
    static Optional<FlywayVersion> parse(String text) {
        if (!FORMAT.matcher(text).matches()) {
            return Optional.empty();
        }
        List<BigInteger> parts = new ArrayList<>();
        for (String part : text.split("[._]", -1)) {
            parts.add(new BigInteger(part));
        }
        while (parts.size() > 1 && parts.get(parts.size() - 1).signum() == 0) {
            parts.remove(parts.size() - 1);
        }
        return Optional.of(new FlywayVersion(List.copyOf(parts)));
    }

    @Override
    public int compareTo(FlywayVersion other) {
        for (int i = 0; i < Math.max(parts.size(), other.parts.size()); i++) {
            int compared = part(i).compareTo(other.part(i));
            if (compared != 0) {
                return compared;
            }
        }
        return 0;
    }

    private BigInteger part(int i) {
        return i < parts.size() ? parts.get(i) : BigInteger.ZERO;
    }

    /** The version in the canonical form that all equal versions share. */
    @Override
    public String toString() {
        return parts.stream().map(BigInteger::toString).collect(Collectors.joining("."));
    }
}
