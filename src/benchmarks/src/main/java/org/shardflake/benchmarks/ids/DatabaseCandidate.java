/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.util.List;
import org.shardflake.scheme.SchemeDescription;

/**
 * A scheme whose ids come from the DEFAULT of the column.
 *
 * @param prepareTable what the table needs before it has a DEFAULT
 * @param expression makes an id
 */
record DatabaseCandidate(
        SchemeDescription facts, String schema, IdType type, List<String> prepareTable, String expression)
        implements Candidate {

    @Override
    public Sizes limit(Sizes sizes) {
        return sizes;
    }
}
