/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import org.testcontainers.containers.wait.strategy.AbstractWaitStrategy;

/** Makes Testcontainers wait for nothing, since we know better what to wait for. */
final class NoWait extends AbstractWaitStrategy {
    @Override
    protected void waitUntilReady() {}
}
