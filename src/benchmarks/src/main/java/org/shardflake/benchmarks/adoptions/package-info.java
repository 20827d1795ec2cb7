/** The pauses of shards that leave an old database. {@link org.shardflake.benchmarks.adoptions.SlicePauses} is the way in. */
@NullMarked
package org.shardflake.benchmarks.adoptions;

import org.jspecify.annotations.NullMarked;
