/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Optional;
import liquibase.changelog.ChangeSet;
import liquibase.changelog.DatabaseChangeLog;
import liquibase.database.core.PostgresDatabase;
import liquibase.database.jvm.JdbcConnection;
import liquibase.exception.PreconditionErrorException;
import liquibase.exception.PreconditionFailedException;
import liquibase.precondition.Precondition;
import liquibase.precondition.core.PreconditionContainer;
import liquibase.precondition.core.PreconditionContainer.ErrorOption;
import liquibase.precondition.core.PreconditionContainer.FailOption;
import org.jspecify.annotations.Nullable;
import org.shardflake.Sharding;

/**
 * Decides whether a changeset's preconditions hold on a shard, as Liquibase would.
 *
 * <p>The changelog is read once for all shards. {@link ShardQuestion Questions} that a query of PostgreSQL's catalog answers are asked in
 * that way, in well under a millisecond; those that remain, such as preconditions of one's own, are left to Liquibase.
 */
final class Preconditions {

    /** The outcome for a changeset on a shard. */
    enum Outcome {
        RUN,
        /** Marked as run without running it. */
        MARK_RAN,
        /** Skipped this time. */
        SKIP
    }

    /** The session of a shard that is being deployed. */
    interface Session {

        /** Runs a query that cannot fail, after everything queued before it. */
        <T> T ask(Question<T> question) throws SQLException;

        /** Runs a query that may fail, and undoes its effects. */
        <T> T tryOut(Question<T> question) throws SQLException;
    }

    /** A question that is put to a shard. */
    @FunctionalInterface
    interface Question<T> {
        T ask(Connection connection) throws SQLException;
    }

    private final ShardChangelog changelog;

    Preconditions(ShardChangelog changelog) {
        this.changelog = changelog;
    }

    /** Whether the changelog itself has preconditions. */
    boolean hasOwn() {
        return changelog
                .parsed()
                .map(DatabaseChangeLog::getPreconditions)
                .filter(container -> !container.getNestedPreconditions().isEmpty())
                .isPresent();
    }

    /**
     * Checks the changelog's own preconditions. As in Liquibase, those that do not hold end the update, unless they only warn.
     *
     * @throws DeployException if they do not hold
     */
    void checkOwn(Session session, int shard) throws SQLException {
        DatabaseChangeLog parsed = changelog.parsed().orElseThrow();
        PreconditionContainer container = parsed.getPreconditions();
        String of = "the changelog's preconditions ";
        try {
            Optional<String> failure =
                    new ShardQuestion(session, shard, parsed, null, this::askLiquibase).failure(container);
            if (failure.isPresent()) {
                throw new DeployException(of + "do not hold: " + failure.get());
            }
        } catch (PreconditionErrorException e) {
            throw new DeployException(of + "cannot be checked: " + message(container, e));
        }
    }

    /**
     * Checks the preconditions of a changeset, inside the transaction that would deploy it.
     *
     * @throws DeployException if they do not hold and the changeset says to halt in that case
     */
    Outcome check(Session session, int shard, ShardChangeSet changeSet) throws SQLException {
        if (!changeSet.hasPreconditions()) {
            return Outcome.RUN;
        }
        ChangeSet its = changelog.changeSet(changeSet).orElseThrow();
        PreconditionContainer container = its.getPreconditions();
        try {
            Optional<String> failure = new ShardQuestion(
                            session, shard, changelog.parsed().orElseThrow(), its, this::askLiquibase)
                    .failure(container);
            return failure.isEmpty() ? Outcome.RUN : after(container.getOnFail(), failure.get());
        } catch (PreconditionErrorException e) {
            return after(container.getOnError(), message(container, e));
        }
    }

    private static Outcome after(FailOption onFail, String failure) {
        return switch (onFail) {
            case MARK_RAN -> Outcome.MARK_RAN;
            case CONTINUE -> Outcome.SKIP;
            case WARN -> Outcome.RUN;
            case HALT -> throw new DeployException("its preconditions do not hold: " + failure);
        };
    }

    private static Outcome after(ErrorOption onError, String error) {
        return switch (onError) {
            case MARK_RAN -> Outcome.MARK_RAN;
            case CONTINUE -> Outcome.SKIP;
            case WARN -> Outcome.RUN;
            case HALT -> throw new DeployException("its preconditions cannot be checked: " + error);
        };
    }

    private static String message(PreconditionContainer container, PreconditionErrorException e) {
        if (container.getOnErrorMessage() != null) {
            return container.getOnErrorMessage();
        }
        return e.getErrorPreconditions().isEmpty()
                ? ShardChangelog.rootMessage(e)
                : ShardChangelog.rootMessage(e.getErrorPreconditions().get(0).getCause());
    }

    /** Replaces a schema that a precondition names, and returns the previous one. */
    private static @Nullable String named(Precondition precondition, String from, String to) throws Exception {
        try {
            Class<?> type = precondition.getClass();
            if (!from.equals(type.getMethod("getSchemaName").invoke(precondition))) {
                return null;
            }
            type.getMethod("setSchemaName", String.class).invoke(precondition, to);
            return from;
        } catch (NoSuchMethodException e) {
            return null; // It has none.
        }
    }

    /** Lets Liquibase check a single precondition. One session at a time does. */
    private Optional<String> askLiquibase(
            Connection connection, int shard, Precondition precondition, @Nullable ChangeSet changeSet)
            throws PreconditionErrorException {
        try {
            return changelog.quietly(() -> {
                PostgresDatabase database = new PostgresDatabase();
                database.setConnection(new JdbcConnection(connection));
                database.setDefaultSchemaName(Sharding.schema(shard));
                database.setLiquibaseSchemaName(ShardHistory.SCHEMA);
                if (changeSet != null) {
                    database.setObjectQuotingStrategy(changeSet.getObjectQuotingStrategy());
                }
                String template = named(precondition, ShardChangeSet.TEMPLATE_SCHEMA, Sharding.schema(shard));
                try {
                    precondition.check(database, changelog.parsed().orElseThrow(), changeSet, null);
                    return Optional.empty();
                } catch (PreconditionFailedException e) {
                    return Optional.of(e.getFailedPreconditions().get(0).getMessage());
                } finally {
                    if (template != null) {
                        named(precondition, Sharding.schema(shard), template);
                    }
                }
            });
        } catch (PreconditionErrorException e) {
            throw e;
        } catch (Exception e) {
            throw new PreconditionErrorException(e, changelog.parsed().orElseThrow(), precondition);
        }
    }
}
