/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Duration;
import java.util.Optional;

/**
 * How good a router's map is.
 *
 * @param version the map's version
 * @param age how long ago the catalog last said that this map is current; a router without a catalog counts from its
 *     start
 * @param problem why the catalog cannot be asked at present; the router serves from the map it has
 */
public record MapHealth(long version, Duration age, Optional<String> problem) {}
