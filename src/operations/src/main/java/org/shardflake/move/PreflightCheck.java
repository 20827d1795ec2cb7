/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.Locale;

/**
 * Something that a move needs, and how it was found to be.
 *
 * @param name what the guide calls it
 * @param found what is so
 * @param remedy what to do about it, empty when there is nothing to do
 */
public record PreflightCheck(String name, Outcome outcome, String found, String remedy) {

    /** What a check came to. */
    public enum Outcome {
        OK,
        /** The move can be made, and something should be known. */
        WARNING,
        /** The move cannot be made. */
        FAILED;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
