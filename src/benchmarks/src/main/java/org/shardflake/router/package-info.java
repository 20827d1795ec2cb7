/** Measurements that need what the router keeps to its package. */
@NullMarked
package org.shardflake.router;

import org.jspecify.annotations.NullMarked;
