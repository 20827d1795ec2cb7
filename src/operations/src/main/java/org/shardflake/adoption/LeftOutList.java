/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.adoption.AdoptionPlan.LeftOut;

/** Collects the properties that the shards will not have, each of them once. */
final class LeftOutList {

    private final Set<LeftOut> all = new LinkedHashSet<>();

    void add(@Nullable TableName table, String problem, String remedy) {
        all.add(new LeftOut(table, problem, remedy));
    }

    List<LeftOut> all() {
        return List.copyOf(all);
    }
}
