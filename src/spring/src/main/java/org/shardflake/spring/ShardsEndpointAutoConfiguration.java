/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import org.shardflake.router.ShardRouter;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Configures the endpoint {@code shards}, if Actuator is present and exposes it. */
@AutoConfiguration(after = ShardflakeAutoConfiguration.class)
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
@ConditionalOnAvailableEndpoint(ShardsEndpoint.class)
final class ShardsEndpointAutoConfiguration {

    @Bean
    @ConditionalOnBean(ShardRouter.class)
    @ConditionalOnMissingBean
    ShardsEndpoint shardsEndpoint(ShardRouter router) {
        return new ShardsEndpoint(router);
    }
}
