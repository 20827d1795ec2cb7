/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Brings the rows of a table without shards into the shards while they are written to. {@link org.shardflake.adopt.Adopter} is the
 * way in.
 *
 * <p>A trigger on the table notes which rows change. Rows are copied in the order of their primary key; then those that changed are
 * brought over again, as they are by then, until none is left. So whatever stopped an adoption, the same steps go on, and doing one
 * twice does no harm.
 */
@NullMarked
package org.shardflake.adopt;

import org.jspecify.annotations.NullMarked;
