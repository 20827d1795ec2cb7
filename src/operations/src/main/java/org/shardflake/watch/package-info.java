/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Snapshots of what servers and moves are doing, taken again and again while they are in use.
 *
 * <p>Begin with {@link org.shardflake.watch.Watch}.
 *
 * <pre>{@code
 * try (Watch watch = new Watch(catalog, server -> ServerUrl.parse(server.url()), System.err::println)) {
 *     InstallationSnapshot snapshot = watch.look();
 * }
 * }</pre>
 */
@NullMarked
package org.shardflake.watch;

import org.jspecify.annotations.NullMarked;
