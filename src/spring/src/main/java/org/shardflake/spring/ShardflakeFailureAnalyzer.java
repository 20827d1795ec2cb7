/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Makes Boot print the problem and its remedy instead of a stack trace. */
final class ShardflakeFailureAnalyzer extends AbstractFailureAnalyzer<ShardflakeStartException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, ShardflakeStartException cause) {
        return new FailureAnalysis(cause.getMessage(), cause.action(), cause);
    }
}
