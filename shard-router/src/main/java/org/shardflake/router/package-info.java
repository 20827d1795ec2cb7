/**
 * The router: from a uid, an id or a shard to a connection on the right server.
 *
 * <p>Begin with {@link org.shardflake.router.ShardRouter}.
 */
@NullMarked
package org.shardflake.router;

import org.jspecify.annotations.NullMarked;
