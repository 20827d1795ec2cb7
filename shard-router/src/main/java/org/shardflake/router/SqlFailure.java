/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.SQLException;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** What a failure says about the shard, however deep the {@code SQLException} is wrapped. */
enum SqlFailure {
    /** The server refuses writes to the shard: SF001. */
    FENCED,
    /** The shard's schema or table is not there, as after a move when the old copy is gone. */
    MISSING,
    /** The transaction lost against another one. */
    SERIALIZATION,
    /** Anything else, which another try would meet again. */
    OTHER;

    private static final int MAX_DEPTH = 30;
    private static final Set<String> MISSING_STATES = Set.of("42P01", "3F000", "42883");
    private static final Set<String> SERIALIZATION_STATES = Set.of("40001", "40P01");

    static SqlFailure of(Throwable failure) {
        if (anyCause(failure, CommitOutcomeUnknownException.class::isInstance)) {
            return OTHER;
        }
        if (anyState(failure, "SF001"::equals)) {
            return FENCED;
        }
        if (anyState(failure, SERIALIZATION_STATES::contains)) {
            return SERIALIZATION;
        }
        return anyState(failure, MISSING_STATES::contains) ? MISSING : OTHER;
    }

    /**
     * Whether a transaction is certainly not committed, given that its commit failed like this: the server answered with
     * an error, rather than going away.
     */
    static boolean isRolledBack(SQLException commitFailure) {
        String state = Objects.requireNonNullElse(commitFailure.getSQLState(), "");
        if (state.equals("25P02")) {
            return true; // The driver's word for COMMIT answered with ROLLBACK: an earlier statement had failed.
        }
        ServerErrorMessage message =
                commitFailure instanceof PSQLException answer ? answer.getServerErrorMessage() : null;
        // After FATAL, as from pg_terminate_backend, the commit may or may not have been on disk already.
        return message != null
                && "ERROR".equals(message.getSeverity())
                && !state.startsWith("08")
                && !state.equals("40003");
    }

    private static boolean anyState(Throwable failure, Predicate<String> wanted) {
        return anyCause(failure, cause -> {
            if (!(cause instanceof SQLException sql)) {
                return false;
            }
            // A batch chains what its statements threw here.
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
