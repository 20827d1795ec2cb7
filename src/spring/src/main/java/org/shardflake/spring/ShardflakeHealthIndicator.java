/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import org.shardflake.router.ShardRouter;
import org.shardflake.router.health.RouterHealth;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** Reports the health of every server and of the map. Down only if no server answers: one that fails concerns its own shards. */
final class ShardflakeHealthIndicator extends AbstractHealthIndicator {

    private final ShardRouter router;

    ShardflakeHealthIndicator(ShardRouter router) {
        super("the servers could not be asked");
        this.router = router;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        RouterHealth health = router.health();
        builder.status(HealthDetails.status(health)).withDetails(HealthDetails.of(health));
    }
}
