/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.exception;

import java.io.Serial;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.shardflake.compare.TableDifference;

/** Thrown when source and target do not have the same rows of a shard. */
public final class CopiesDifferException extends MoveException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final transient Map<Integer, List<TableDifference>> differences;

    public CopiesDifferException(String message, Map<Integer, List<TableDifference>> differences) {
        this(message, null, differences);
    }

    public CopiesDifferException(
            String message, @Nullable CharSequence advice, Map<Integer, List<TableDifference>> differences) {
        super(Kind.VERIFICATION, message, advice);
        this.differences = new TreeMap<>(differences);
    }

    /** The differences, by shard; empty when an earlier run found them. */
    public Map<Integer, List<TableDifference>> differences() {
        return differences;
    }
}
