/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

/**
 * What a server remembers of a shard's place.
 *
 * @param epoch with which it got the shard or gave it up; 0 for a copy that has never been open
 * @param here whether it got it
 */
record Placement(long epoch, boolean here) {}
