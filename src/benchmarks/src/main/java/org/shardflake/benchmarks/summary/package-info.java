/** The README's table and chart, from the pages that the benchmarks wrote. */
@org.jspecify.annotations.NullMarked
package org.shardflake.benchmarks.summary;
