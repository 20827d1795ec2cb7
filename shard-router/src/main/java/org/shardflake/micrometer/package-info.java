/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The router's meters for Micrometer: give a {@link org.shardflake.micrometer.MicrometerListener} to the router's builder.
 * Needs {@code io.micrometer:micrometer-core}.
 */
@NullMarked
package org.shardflake.micrometer;

import org.jspecify.annotations.NullMarked;
