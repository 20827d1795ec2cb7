/**
 * The router: finds a connection to the right server for a uid, an id or a shard.
 *
 * <p>Begin with {@link org.shardflake.router.ShardRouter}.
 */
@NullMarked
package org.shardflake.router;

import org.jspecify.annotations.NullMarked;
