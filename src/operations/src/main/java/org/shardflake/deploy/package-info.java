/**
 * Deploys one Liquibase changelog, or the SQL migrations of Flyway, to the schemas of all shards.
 *
 * <p>Begin with {@link org.shardflake.deploy.SchemaDeployer}. Liquibase reads the changelog and generates its SQL once; each
 * shard gets that SQL in one transaction together with its lines of Liquibase's history, so a shard either matches the
 * history or is unchanged. New shards share a transaction with a few others.
 *
 * <p>{@code Installation.deploy} in {@code org.shardflake.install} deploys to all shards of an installation with every check.
 */
@NullMarked
package org.shardflake.deploy;

import org.jspecify.annotations.NullMarked;
