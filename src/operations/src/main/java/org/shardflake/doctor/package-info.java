/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Compares servers with the shard map and with their requirements.
 *
 * <p>Begin with {@link org.shardflake.doctor.Doctor}.
 *
 * <pre>{@code
 * List<Finding> findings = new Doctor(catalog, installation.urls(map), mover).examine();
 * }</pre>
 */
@NullMarked
package org.shardflake.doctor;

import org.jspecify.annotations.NullMarked;
