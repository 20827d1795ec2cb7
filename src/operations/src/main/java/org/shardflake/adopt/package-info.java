/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Brings the rows of an unsharded table into the shards while the table accepts writes. {@link org.shardflake.adopt.Adopter} is the way in.
 *
 * <p>A trigger on the table records which rows change. Rows are copied in the order of their primary key; then changed rows are
 * brought over again in their current state, until none is left. Whatever stops an adoption, the same steps continue it, and
 * repeating one is harmless. {@link org.shardflake.adopt.DatabaseAdopter} does the same for several tables, and finds the shards of rows by those they
 * refer to, as a plan of {@link org.shardflake.adoption} says.
 *
 * <pre>{@code
 * try (Adopter adopter = Adopter.open(settings, oldDatabase, catalog, map, urls, AdoptListener.NONE)) {
 *     adopter.plan(); // checks everything, and changes nothing
 *     adopter.run(); // copies while the table takes writes, and may be repeated
 *     adopter.finish(); // closes the table, brings the rest over, compares
 * }
 * }</pre>
 */
@NullMarked
package org.shardflake.adopt;

import org.jspecify.annotations.NullMarked;
