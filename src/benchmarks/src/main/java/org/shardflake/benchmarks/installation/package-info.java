/** Installations of Shardflake on a cluster's servers, made and used by the command line as its users do. */
@NullMarked
package org.shardflake.benchmarks.installation;

import org.jspecify.annotations.NullMarked;
