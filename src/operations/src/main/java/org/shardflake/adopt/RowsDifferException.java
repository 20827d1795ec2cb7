/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.io.Serial;
import java.util.List;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.jdbc.Plural;

/** Thrown when shards do not have the rows of the table that they should. */
public final class RowsDifferException extends AdoptException {

    @Serial
    private static final long serialVersionUID = 1L;

    private static final int EXAMPLES = 5;

    /** @param computed the columns that the shards compute, if nothing else differs */
    RowsDifferException(String table, List<String> differences, List<String> computed) {
        super(
                Kind.VERIFICATION,
                "the rows of %s differ in %s: %s%s"
                        .formatted(
                                table,
                                Plural.of(differences.size(), "shard"),
                                String.join("; ", differences.subList(0, Math.min(EXAMPLES, differences.size()))),
                                differences.size() > EXAMPLES ? "; ..." : ""),
                hint(computed));
    }

    private static CharSequence hint(List<String> computed) {
        if (!computed.isEmpty()) {
            return "only %s differs, which the shards compute from other columns: change either side, and run it again"
                    .formatted(String.join(" or ", computed));
        }
        return Advice.of("%s names the rows that differ", CliCommand.ADOPT_VERIFY);
    }
}
