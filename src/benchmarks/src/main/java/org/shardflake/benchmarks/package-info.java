/** Measurements of Shardflake beside what it is compared with, as ratios within one run. */
@NullMarked
package org.shardflake.benchmarks;

import org.jspecify.annotations.NullMarked;
