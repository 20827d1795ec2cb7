/** What moving shards costs. {@link org.shardflake.benchmarks.moves.MoveComparison} is the way in. */
@NullMarked
package org.shardflake.benchmarks.moves;

import org.jspecify.annotations.NullMarked;
