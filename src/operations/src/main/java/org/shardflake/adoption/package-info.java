/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Plans how the tables of an existing database go into shards: where each table goes, what leads to its key, and what cannot go.
 * {@link org.shardflake.adoption.AdoptionPlanFile} keeps a plan as a file that people review and edit;
 * {@code org.shardflake.adopt} carries it out.
 */
@NullMarked
package org.shardflake.adoption;

import org.jspecify.annotations.NullMarked;
