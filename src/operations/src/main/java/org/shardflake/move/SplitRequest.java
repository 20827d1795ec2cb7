/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.apiguardian.api.API.Status.EXPERIMENTAL;

import org.apiguardian.api.API;
import org.shardflake.Server;
import org.shardflake.ShardSet;
import org.shardflake.server.ServerUrl;

/**
 * The servers and shards of a split.
 *
 * @param source the server in the shard map
 * @param target its standby, as the server that it will be
 * @param standby the standby's URL, including what is needed to log in
 * @param shards those that the standby takes over
 */
@API(status = EXPERIMENTAL)
public record SplitRequest(String source, Server target, ServerUrl standby, ShardSet shards, String reason) {}
