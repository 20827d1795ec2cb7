/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.health;

import java.time.Duration;
import java.util.Optional;

/**
 * The state of a router's map.
 *
 * @param version the map's version
 * @param age how long ago the catalog last confirmed this map; a router without a catalog counts from its start
 * @param problem why the catalog cannot be reached at present; the router keeps using its map
 */
public record MapHealth(long version, Duration age, Optional<String> problem) {}
