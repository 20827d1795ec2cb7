/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import org.testcontainers.containers.wait.strategy.AbstractWaitStrategy;

/** Makes Testcontainers not wait at all, since the caller knows better what to wait for. */
final class NoWait extends AbstractWaitStrategy {
    @Override
    protected void waitUntilReady() {}
}
