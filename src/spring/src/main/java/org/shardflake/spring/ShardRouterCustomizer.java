/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import org.shardflake.router.ShardRouterBuilder;

/** A bean that changes the router before it is built, for settings without a property. */
@FunctionalInterface
public interface ShardRouterCustomizer {

    /** Changes the builder, which has the properties' settings already. */
    void customize(ShardRouterBuilder builder);
}
