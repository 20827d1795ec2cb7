/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.security.cert.CertificateException;
import java.sql.SQLException;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException.Kind;

/** A way in which a server fails its clients, with its meaning for the caller and what to do about it. */
@SuppressWarnings("ImmutableEnumChecker") // Advice and the predicates never change.
public enum ServerFailure {
    SILENT(
            Kind.FAILURE,
            "check that the machine and its disks work; when the server answers again, run the same command again",
            is(NoAnswerException.class)),
    STANDBY(
            Kind.PRECONDITION,
            "give the URL of the primary, or of all hosts: postgresql://user@host1:5432,host2:5432/database",
            is(StandbyException.class)),
    POOLER(
            Kind.PRECONDITION,
            Advice.of(
                    "give the URL of the server itself; the shard map has the pooler's next to it: %s",
                    CliCommand.SERVER_CHANGE_POOLER),
            is(PoolerException.class)),
    ENCRYPTION(
            Kind.FAILURE,
            "check sslmode and sslrootcert in the URL, and ssl in the server's settings",
            is(SSLException.class).or(is(CertificateException.class)).or(says("does not support SSL"))),
    PASSWORD(
            Kind.FAILURE,
            "run the password command by itself, with PGHOST, PGPORT, PGDATABASE and PGUSER set, or look into the application's source of passwords",
            is(PasswordUnavailableException.class)),
    LOGIN(
            Kind.FAILURE,
            "give the password in PGPASSWORD, in ~/.pgpass or in the URL, and check pg_hba.conf",
            hasState("28").or(hasState("08004"))),
    NO_DATABASE(
            Kind.FAILURE,
            "check the database at the end of the URL; psql -l lists those of the server",
            hasState("3D000")),
    UNREACHABLE(
            Kind.FAILURE,
            "check host and port, and that PostgreSQL runs there and listens for TCP connections",
            hasState("08")),
    NOT_ALLOWED(
            Kind.FAILURE,
            Advice.of(
                    "someone who may read the catalog can print what this role needs with %s; WORK is doctor, moves, adopt, deploy or application",
                    CliCommand.GRANTS),
            hasState("42501"));

    private final Kind kind;
    private final Advice advice;
    private final Predicate<Throwable> isCause;

    ServerFailure(Kind kind, CharSequence advice, Predicate<Throwable> isCause) {
        this.kind = kind;
        this.advice = Advice.of(advice);
        this.isCause = isCause;
    }

    /** The meaning of a failure, if it means the same whatever was being done. */
    public static Optional<ServerFailure> of(Throwable failure) {
        return among(Stream.of(SILENT, STANDBY, POOLER), failure);
    }

    /** The meaning of a failure to connect, or to read the catalog. */
    public static Optional<ServerFailure> whileConnecting(Throwable failure) {
        return among(Stream.of(values()), failure);
    }

    private static Optional<ServerFailure> among(Stream<ServerFailure> candidates, Throwable failure) {
        return candidates.filter(each -> each.caused(failure)).findFirst();
    }

    private boolean caused(Throwable failure) {
        return Stream.<Throwable>iterate(failure, cause -> cause != null, Throwable::getCause)
                .anyMatch(isCause);
    }

    public Kind kind() {
        return kind;
    }

    public Advice advice() {
        return advice;
    }

    private static Predicate<Throwable> is(Class<? extends Throwable> type) {
        return type::isInstance;
    }

    /** Recognises a failure by its text, since the driver has no SQLSTATE of its own for some. */
    private static Predicate<Throwable> says(String part) {
        return cause -> cause instanceof SQLException
                && String.valueOf(cause.getMessage()).contains(part);
    }

    private static Predicate<Throwable> hasState(String prefix) {
        return cause -> cause instanceof SQLException sql
                && String.valueOf(sql.getSQLState()).startsWith(prefix);
    }
}
