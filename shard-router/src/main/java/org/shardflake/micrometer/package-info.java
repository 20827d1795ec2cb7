/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Meters and observations of the router for Micrometer: give a {@link org.shardflake.micrometer.MicrometerListener} or an {@link
 * org.shardflake.micrometer.ObservationListener} to the router's builder. Needs {@code io.micrometer:micrometer-core}, or for observations
 * alone {@code micrometer-observation}.
 */
@NullMarked
package org.shardflake.micrometer;

import org.jspecify.annotations.NullMarked;
