/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Makes Boot print which framework used the shards' {@code DataSource} at start-up, and how to give that framework its own. */
final class NoShardFailureAnalyzer extends AbstractFailureAnalyzer<NoShardException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, NoShardException cause) {
        OtherFramework making = OtherFramework.making(rootFailure);
        OtherFramework framework = making != null ? making : cause.framework();
        return framework == null
                ? new FailureAnalysis(
                        "The DataSource of the shards was used outside of any shard.",
                        "Annotate the method that uses it with @OnShard, and call it through its bean, or use ShardTemplate."
                                + " For tables in another database, add a bean of that: @Bean(defaultCandidate = false) DataSource.",
                        cause)
                : new FailureAnalysis(
                        "%s uses the DataSource of the shards, outside of any shard.".formatted(framework.title()),
                        framework.action(),
                        cause);
    }
}
