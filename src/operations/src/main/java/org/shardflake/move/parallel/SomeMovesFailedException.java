/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.parallel;

import java.io.Serial;
import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.move.exception.MoveException;

/** Thrown when some of several moves failed. The others are done, or have not begun; the same command goes on with the rest. */
public final class SomeMovesFailedException extends MoveException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final transient Map<MoveRequest, RuntimeException> failures;

    SomeMovesFailedException(
            Kind kind, String message, CharSequence hint, Map<MoveRequest, RuntimeException> failures) {
        super(kind, message, hint);
        this.failures = new LinkedHashMap<>(failures);
        failures.values().forEach(this::addSuppressed);
    }

    /** The failure of each move. */
    public Map<MoveRequest, RuntimeException> failures() {
        return failures;
    }
}
