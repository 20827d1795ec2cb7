/** What deploying a schema to all shards costs. {@link org.shardflake.benchmarks.deploys.DeployComparison} is the way in. */
@NullMarked
package org.shardflake.benchmarks.deploys;

import org.jspecify.annotations.NullMarked;
