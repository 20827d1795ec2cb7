/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.concurrent.atomic.AtomicReferenceArray;
import org.shardflake.IdLayout;
import org.shardflake.Sharding;

/**
 * A SQL template with the text for each shard. The text is the same object each time, so that the driver's cache of statements need not compare
 * it letter by letter. Thread-safe.
 */
final class ShardSqlTemplate {

    private final String template;
    private final AtomicReferenceArray<String> texts = new AtomicReferenceArray<>(IdLayout.MAX_SHARD + 1);

    /** @param template SQL with <code>${shard.schema}</code> where the schema belongs */
    ShardSqlTemplate(String template) {
        this.template = template;
    }

    String of(int shard) {
        String text = texts.get(shard);
        if (text == null) {
            text = template.replace(ShardTransaction.SCHEMA_PLACEHOLDER, Sharding.schema(shard));
            texts.set(shard, text);
        }
        return text;
    }
}
