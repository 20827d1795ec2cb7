/**
 * Deploys one Liquibase changelog to the schemas of all shards.
 *
 * <p>Begin with {@link org.shardflake.deploy.SchemaDeployer}. Liquibase reads the changelog and generates its SQL once; each
 * shard gets that SQL in one transaction together with its lines of Liquibase's history, so a shard either matches the
 * history or is unchanged. New shards share a transaction with a few others.
 */
@NullMarked
package org.shardflake.deploy;

import org.jspecify.annotations.NullMarked;
