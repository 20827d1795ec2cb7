/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Brings the rows of unsharded tables into the shards while the tables accept writes. {@link org.shardflake.adopt.DatabaseAdopter} is the way in.
 *
 * <p>A trigger on each table records which rows change. Rows are copied in the order of their primary key; then changed rows are
 * brought over again in their current state, until none is left. Whatever stops an adoption, the same steps continue it, and
 * repeating one is harmless. Rows without the key find their shards by those they refer to, as a plan of {@link org.shardflake.adoption} says.
 *
 * <pre>{@code
 * DatabaseSettings settings = DatabaseSettings.of(plan, batchRows, workers, rowsPerSecond);
 * try (DatabaseAdopter adopter = DatabaseAdopter.open(settings, oldDatabase, catalog, map, urls, AdoptListener.NONE)) {
 *     adopter.plan(); // checks everything, and changes nothing
 *     adopter.run(); // copies while the tables take writes, and may be repeated
 *     adopter.finish(); // closes the tables, brings the rest over, compares
 * }
 * }</pre>
 */
@NullMarked
package org.shardflake.adopt;

import org.jspecify.annotations.NullMarked;
