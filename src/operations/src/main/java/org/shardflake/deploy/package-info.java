/**
 * One Liquibase changelog, deployed to the schemas of all shards.
 *
 * <p>Begin with {@link org.shardflake.deploy.SchemaDeployer}. Liquibase reads the changelog and makes its SQL, once; each
 * shard gets that SQL in one transaction together with its lines of Liquibase's history, so a shard is either as the history
 * says or as it was. Shards that are created share a transaction with a few others.
 */
@NullMarked
package org.shardflake.deploy;

import org.jspecify.annotations.NullMarked;
