/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

/**
 * A shard that could not be deployed, and is as it was before.
 *
 * @param server the name of its server
 * @param changeSet the changeset that failed, or empty if none had begun
 * @param sql the statement that failed, or empty
 * @param error what PostgreSQL said
 */
public record ShardFailure(int shard, String server, String changeSet, String sql, String error) {}
