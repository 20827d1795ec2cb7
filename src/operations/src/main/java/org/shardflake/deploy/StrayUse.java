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
 * A use, by a changeset, of something that isn't its shard's own.
 *
 * @param what the use, as the predicate of a sentence about the changeset
 * @param advice what helps, if that is a command
 */
record StrayUse(String what, @Nullable Advice advice) {

    /** The use, as a whole sentence. */
    StrayUse of(String changeSet) {
        return new StrayUse("changeset %s %s".formatted(changeSet, what), advice);
    }

    /** The advice of several uses together. */
    static Optional<Advice> advice(List<StrayUse> uses) {
        return uses.stream()
                .flatMap(use -> Optional.ofNullable(use.advice).stream())
                .distinct()
                .reduce((one, other) -> Advice.of("%s; %s", one, other));
    }
}
