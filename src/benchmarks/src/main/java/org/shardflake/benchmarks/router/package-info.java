/** The router beside what else finds the right server, on the same rows. */
@NullMarked
package org.shardflake.benchmarks.router;

import org.jspecify.annotations.NullMarked;
