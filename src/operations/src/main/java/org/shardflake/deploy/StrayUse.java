/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;

/**
 * A changeset's use of something that does not belong to its shard.
 *
 * @param what the use, as the predicate of a sentence about the changeset
 * @param advice what helps, if that is a command
 */
record StrayUse(String what, @Nullable Advice advice) {

    /** Names the changeset, in a whole sentence. */
    StrayUse of(String changeSet) {
        return new StrayUse("changeset %s %s".formatted(changeSet, what), advice);
    }

    /** Combines the advice of several uses. */
    static Optional<Advice> advice(List<StrayUse> uses) {
        return uses.stream()
                .flatMap(use -> Optional.ofNullable(use.advice).stream())
                .distinct()
                .reduce((one, other) -> Advice.of("%s; %s", one, other));
    }
}
