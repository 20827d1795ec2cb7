/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.preflight;

import java.util.Locale;
import org.shardflake.Advice;

/**
 * A requirement of a move and its result.
 *
 * @param name its name in the guide
 * @param found the actual state
 * @param remedy what to do about it, empty if there is nothing to do
 */
public record PreflightCheck(String name, Outcome outcome, String found, Advice remedy) {

    public PreflightCheck(String name, Outcome outcome, String found, CharSequence remedy) {
        this(name, outcome, found, Advice.of(remedy));
    }

    /** The outcome of a check. */
    public enum Outcome {
        OK,
        /** The move is possible, but there is something to know. */
        WARNING,
        /** The move is impossible. */
        FAILED;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
