/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

/** What a step of routing costs where no server is asked: per operation, with the error of the mean. */
public record InMemoryCost(String name, double nanos, double error, double bytes) {}
