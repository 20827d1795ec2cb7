/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

/**
 * A server's record of a shard's place.
 *
 * @param epoch the epoch with which the server got the shard or gave it up; 0 for a copy that was never open
 * @param here whether it got it
 */
record Placement(long epoch, boolean here) {}
