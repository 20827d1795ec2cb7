package org.shardflake.cli.demo;

import java.util.List;
import java.util.Map;
import org.shardflake.IdLayout;

/**
 * What the demo found on its servers.
 *
 * @param rowsByServer rows read from each server, by its name
 * @param duplicates ids that a table has twice, in whichever shards
 * @param wrongShard ids whose shard bits disagree with their uid or with the schema they are in
 * @param notIncreasing ids not above the one inserted before them in the same table and shard
 * @param largestDifferenceMillis between an id's time and its row's created_at, which is read right after it
 * @param idsPerSecond rows read, by the time it took to write them
 * @param samples some of the ids
 */
public record DemoReport(
        IdLayout layout,
        int shards,
        Map<String, Long> rowsByServer,
        long rows,
        long duplicates,
        long wrongShard,
        long notIncreasing,
        long largestDifferenceMillis,
        long idsPerSecond,
        List<Long> samples) {

    /** An id's time is within 4 ms of the clock; on a busy machine the row's own time may be read some while later. */
    static final long ALLOWED_DIFFERENCE_MILLIS = 1000;

    /** Whether every check holds for the number of rows that was written. */
    public boolean passed(long rowsWritten) {
        return rows == rowsWritten
                && duplicates == 0
                && wrongShard == 0
                && notIncreasing == 0
                && timesAgree();
    }

    /** Whether the time bits are right. */
    public boolean timesAgree() {
        return largestDifferenceMillis < ALLOWED_DIFFERENCE_MILLIS;
    }
}
