/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Compares servers with what the shard map says, and with what they need to be well.
 *
 * <p>Begin with {@link org.shardflake.doctor.Doctor}.
 */
@NullMarked
package org.shardflake.doctor;

import org.jspecify.annotations.NullMarked;
