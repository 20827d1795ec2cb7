/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.List;

/**
 * A shard whose schema differs from that of its peers.
 *
 * @param server the name of its server
 * @param differences what is missing, extra or different compared with them
 */
public record ShardDrift(int shard, String server, List<String> differences) {}
