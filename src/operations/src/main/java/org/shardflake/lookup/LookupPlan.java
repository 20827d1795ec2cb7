/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.util.Optional;
import org.shardflake.catalog.LookupDefinition;

/**
 * A lookup to be created.
 *
 * @param unique whether one row only can hold a value
 * @param ignoresCase whether the letters A to Z are taken for a to z
 * @param hashed whether only the SHA-256 of a value is kept
 * @param source the column that holds the values, if one does
 */
public record LookupPlan(
        String name, boolean unique, boolean ignoresCase, boolean hashed, Optional<LookupDefinition.Source> source) {

    boolean makes(LookupDefinition lookup) {
        return equals(
                new LookupPlan(lookup.name(), lookup.unique(), lookup.ignoresCase(), lookup.hashed(), lookup.source()));
    }
}
