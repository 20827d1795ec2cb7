/**
 * jOOQ on shards: code generated for one template schema, run in the schema of any shard.
 *
 * <p>Begin with {@link org.shardflake.jooq.JooqRouter}. jOOQ is an optional dependency of this library; add it
 * yourself.
 */
@NullMarked
package org.shardflake.jooq;

import org.jspecify.annotations.NullMarked;
