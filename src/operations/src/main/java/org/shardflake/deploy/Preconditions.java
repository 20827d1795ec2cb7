/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import liquibase.changelog.ChangeSet;
import liquibase.changelog.DatabaseChangeLog;
import liquibase.database.core.PostgresDatabase;
import liquibase.database.jvm.JdbcConnection;
import liquibase.exception.PreconditionErrorException;
import liquibase.exception.PreconditionFailedException;
import liquibase.precondition.core.PreconditionContainer;
import org.shardflake.Sharding;

/** Asks Liquibase whether a changeset's preconditions hold on a shard. */
final class Preconditions {

    /** The outcome for a changeset on a shard. */
    enum Outcome {
        RUN,
        /** Not run, and never checked again. */
        MARK_RAN,
        /** Not run this time. */
        SKIP
    }

    private final ShardChangelog changelog;

    Preconditions(ShardChangelog changelog) {
        this.changelog = changelog;
    }

    /**
     * Checks the preconditions of a changeset, inside the transaction that would deploy it.
     *
     * @throws DeployException if they do not hold and the changeset says to halt in that case
     */
    Outcome check(Connection connection, int shard, ShardChangeSet changeSet) throws SQLException {
        if (!changeSet.hasPreconditions()) {
            return Outcome.RUN;
        }
        try {
            return changelog.quietly(() -> {
                PostgresDatabase database = new PostgresDatabase();
                database.setConnection(new JdbcConnection(connection));
                database.setDefaultSchemaName(Sharding.schema(shard));
                database.setLiquibaseSchemaName(ShardHistory.SCHEMA);
                DatabaseChangeLog parsed = changelog.parse(database, Sharding.schema(shard));
                ChangeSet its = parsed.getChangeSet(changeSet.path(), changeSet.author(), changeSet.id());
                return check(database, parsed, its);
            });
        } catch (DeployException e) {
            throw e;
        } catch (Exception e) {
            throw new DeployException("cannot check preconditions: " + ShardChangelog.rootMessage(e), e);
        }
    }

    private static Outcome check(PostgresDatabase database, DatabaseChangeLog changelog, ChangeSet changeSet) {
        PreconditionContainer container = changeSet.getPreconditions();
        try {
            container.check(database, changelog, changeSet, null);
            return Outcome.RUN;
        } catch (PreconditionFailedException e) {
            return switch (container.getOnFail()) {
                case MARK_RAN -> Outcome.MARK_RAN;
                case CONTINUE -> Outcome.SKIP;
                case WARN -> Outcome.RUN;
                case HALT ->
                    throw new DeployException("its preconditions do not hold: "
                            + e.getFailedPreconditions().get(0).getMessage());
            };
        } catch (PreconditionErrorException e) {
            return switch (container.getOnError()) {
                case MARK_RAN -> Outcome.MARK_RAN;
                case CONTINUE -> Outcome.SKIP;
                case WARN -> Outcome.RUN;
                case HALT ->
                    throw new DeployException("its preconditions cannot be checked: "
                            + ShardChangelog.rootMessage(
                                    e.getErrorPreconditions().get(0).getCause()));
            };
        }
    }
}
