/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Pictures and tables of the shard map. */
@NullMarked
package org.shardflake.cli.map;

import org.jspecify.annotations.NullMarked;
