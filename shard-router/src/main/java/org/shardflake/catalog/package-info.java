/**
 * The catalog: the shard map as PostgreSQL keeps it, its history, and its form as a file.
 *
 * <p>Begin with {@link org.shardflake.catalog.ShardCatalog}. Applications need it only to administer shards; the router
 * reads the catalog by itself.
 */
@NullMarked
package org.shardflake.catalog;

import org.jspecify.annotations.NullMarked;
