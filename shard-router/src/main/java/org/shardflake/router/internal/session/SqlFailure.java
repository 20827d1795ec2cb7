/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.sql.SQLException;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import org.postgresql.util.PSQLException;
import org.shardflake.router.exception.AuthenticationFailedException;
import org.shardflake.router.exception.CommitOutcomeUnknownException;
import org.shardflake.router.exception.InterruptedWorkException;
import org.shardflake.router.exception.PoolExhaustedException;
import org.shardflake.router.exception.ServerUnavailableException;
import org.shardflake.router.exception.ShardFencedException;

/** The kinds of failure, by what they mean for the shard, however deeply the {@code SQLException} is wrapped. */
public enum SqlFailure {
    /** The server refuses writes to the shard: SF001. */
    FENCED,
    /** The old database did not let the work begin: the shard has left, or is leaving. */
    NOT_ENTERED,
    /** Reference tables are written on another server, or nowhere for a moment: SF012. */
    ELSEWHERE,
    /** The shard's schema or table is missing, for example after a move whose old copy is gone. */
    MISSING,
    /** A statement was planned before its table was changed, and would return other columns now. The driver has dropped such plans. */
    OUTDATED,
    /** The transaction lost a conflict with another one. */
    SERIALIZATION,
    /** The connection was lost before a commit began, so nothing was written. */
    LOST,
    /** Any other failure, which would happen again on another try. */
    OTHER;

    private static final int MAX_DEPTH = 30;
    private static final Set<String> MISSING_STATES = Set.of("42P01", "3F000", "42883");
    private static final Set<String> SERIALIZATION_STATES = Set.of("40001", "40P01");

    /** The states of a shutdown, and of a session ended by an administrator. */
    private static final Set<String> SHUTDOWN_STATES = Set.of("57P01", "57P02");

    public static SqlFailure of(Throwable failure) {
        if (anyCause(failure, CommitOutcomeUnknownException.class::isInstance)
                || anyCause(failure, ShardFencedException.class::isInstance) // of another shard, inside this work
                || anyCause(failure, OtherShardException.class::isInstance)) {
            return OTHER;
        }
        if (anyCause(failure, NotEnteredException.class::isInstance)) {
            return NOT_ENTERED;
        }
        if (anyState(failure, "SF001"::equals)) {
            return FENCED;
        }
        if (anyState(failure, "SF012"::equals)) {
            return ELSEWHERE;
        }
        if (anyCause(failure, SqlFailure::isOutdated)) {
            return OUTDATED;
        }
        if (anyState(failure, SERIALIZATION_STATES::contains)) {
            return SERIALIZATION;
        }
        if (anyState(failure, MISSING_STATES::contains)) {
            return MISSING;
        }
        return isLost(failure) ? LOST : OTHER;
    }

    /** Whether a server refused a write to a shard. */
    public static boolean isFence(Throwable failure) {
        return of(failure) == FENCED;
    }

    /** Whether a server refused a login: PostgreSQL's class 28, or the driver's own error for a missing password. */
    public static boolean isLoginRefused(Throwable failure) {
        return anyState(failure, state -> state.startsWith("28") || state.equals("08004"));
    }

    /** Whether a prepared statement was outdated, recognized by the server's function because messages are translated. */
    static boolean isOutdated(Throwable failure) {
        if (failure instanceof SQLException sql) {
            for (SQLException next = sql; next != null; next = next.getNextException()) {
                if (next instanceof PSQLException answer
                        && "0A000".equals(answer.getSQLState())
                        && answer.getServerErrorMessage() != null
                        && "RevalidateCachedQuery"
                                .equals(answer.getServerErrorMessage().getRoutine())) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean isLost(Throwable failure) {
        return anyState(failure, state -> state.startsWith("08") || SHUTDOWN_STATES.contains(state))
                && !anyCause(
                        failure,
                        cause -> cause instanceof NotCommittableException
                                || cause instanceof ServerUnavailableException
                                || cause instanceof PoolExhaustedException
                                || cause instanceof AuthenticationFailedException
                                || cause instanceof InterruptedWorkException);
    }

    /**
     * Whether the server answered with an error instead of going away. With FATAL, for example from
     * pg_terminate_backend, it also answers but then closes the connection, and a commit may or may not be on disk.
     */
    public static boolean isAnswer(SQLException failure) {
        if (failure instanceof OtherShardException) {
            return true;
        }
        String state = Objects.requireNonNullElse(failure.getSQLState(), "");
        return failure instanceof PSQLException answer
                && answer.getServerErrorMessage() != null
                && !state.startsWith("08")
                && !SHUTDOWN_STATES.contains(state)
                && !state.equals("40003");
    }

    private static boolean anyState(Throwable failure, Predicate<String> wanted) {
        return anyCause(failure, cause -> {
            if (!(cause instanceof SQLException sql)) {
                return false;
            }
            // A batch chains the exceptions of its statements here.
            for (SQLException next = sql; next != null; next = next.getNextException()) {
                if (wanted.test(Objects.requireNonNullElse(next.getSQLState(), ""))) {
                    return true;
                }
            }
            return false;
        });
    }

    private static boolean anyCause(Throwable failure, Predicate<Throwable> wanted) {
        Throwable cause = failure;
        for (int depth = 0; cause != null && depth < MAX_DEPTH; depth++) {
            if (wanted.test(cause)) {
                return true;
            }
            cause = cause.getCause();
        }
        return false;
    }
}
