/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.io.Serial;
import java.util.List;
import java.util.stream.Collectors;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.compare.TableDifference;
import org.shardflake.jdbc.Plural;

/** Thrown when shards do not have the rows of the table that they should. */
public final class RowsDifferException extends AdoptException {

    @Serial
    private static final long serialVersionUID = 1L;

    private static final int EXAMPLES = 5;

    /** @param computed the columns that the shards compute, if nothing else differs */
    RowsDifferException(String table, List<String> differences, List<String> computed) {
        this(table, differences, hint(computed));
    }

    private RowsDifferException(String message, CharSequence hint) {
        super(Kind.VERIFICATION, message, hint);
    }

    private RowsDifferException(String table, List<String> differences, CharSequence hint) {
        this(
                "the rows of %s differ in %s: %s%s"
                        .formatted(
                                table,
                                Plural.of(differences.size(), "shard"),
                                String.join("; ", differences.subList(0, Math.min(EXAMPLES, differences.size()))),
                                differences.size() > EXAMPLES ? "; ..." : ""),
                hint);
    }

    /** Rows of a table that has been adopted differ, since the shards have been written to. */
    static RowsDifferException newer(String table, List<String> differences) {
        return new RowsDifferException(
                table,
                differences,
                Advice.of(
                        "stop writes to the shards first: they would be lost. %s names the rows. Write the newer ones to %s, in a transaction that disables its trigger shardflake_adopt_closed and ends with ENABLE ALWAYS TRIGGER. Then run the same command again",
                        CliCommand.ADOPT_VERIFY, table));
    }

    /** Reference tables lack rows that the old database has, or have others in their place. */
    static RowsDifferException ofReferences(List<ReferenceComparison> behind) {
        return new RowsDifferException(
                "reference tables do not have the rows of the old database, which leads until the adoption is complete: "
                        + behind.stream()
                                .flatMap(table -> table.difference().stream())
                                .map(TableDifference::toString)
                                .collect(Collectors.joining("; ")),
                "nothing follows changes of these tables: write what changed to the side that lacks it, which is the home of the reference tables, or the old database if the adoption was opened again, and run the same command again");
    }

    private static CharSequence hint(List<String> computed) {
        if (!computed.isEmpty()) {
            return "only %s differs, which the shards compute from other columns: change either side, and run it again"
                    .formatted(String.join(" or ", computed));
        }
        return Advice.of("%s names the rows that differ", CliCommand.ADOPT_VERIFY);
    }
}
