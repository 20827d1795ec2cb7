/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import java.util.Optional;

/**
 * The server from which changes of a shard are taken.
 *
 * @param left the name of the hand-over with which the shard has left it, if it has
 */
record Owner(String server, long epoch, Optional<String> left) {}
