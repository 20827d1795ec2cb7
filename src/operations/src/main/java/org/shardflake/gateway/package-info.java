/**
 * Gateways: one read-only schema in any PostgreSQL database with a table for each table of the shards, over postgres_fdw.
 *
 * <p>{@link org.shardflake.gateway.Gateways} is the way in.
 */
@NullMarked
package org.shardflake.gateway;

import org.jspecify.annotations.NullMarked;
