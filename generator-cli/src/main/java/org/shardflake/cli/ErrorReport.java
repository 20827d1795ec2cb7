/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import java.io.PrintWriter;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ErrorLines;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresClusterException;
import org.shardflake.install.ServerFailedException;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.NoAnswerException;
import org.shardflake.server.ServerFailure;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.DeploymentException;
import org.shardflake.sql.NewerVersionException;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/** Turns any failure into {@code error:} and {@code hint:} lines on standard error, and an exit code. */
final class ErrorReport implements IParameterExceptionHandler, IExecutionExceptionHandler {

    /**
     * The beginnings of lines in a server's message that are shown elsewhere or left out: a row may contain secrets, and positions refer to the
     * text that was sent.
     */
    private static final List<String> NOISE = List.of("Hint: ", "Where: ", "Detail: Failing row ", "Position: ");

    /** The driver's message for failures whose reason is in the cause. */
    private static final String DRIVER_SAYS = "The connection attempt failed.";

    private final PrintWriter err;
    private final Ansi ansi;
    private final BooleanSupplier stacktrace;

    ErrorReport(PrintWriter err, Ansi ansi, BooleanSupplier stacktrace) {
        this.err = err;
        this.ansi = ansi;
        this.stacktrace = stacktrace;
    }

    @Override
    public int handleParseException(ParameterException e, String[] args) {
        CommandLine command = e.getCommandLine();
        if (e.getCause() instanceof CliException cli) {
            return explain(cli); // Settings are read while the command line is parsed.
        }
        if (String.valueOf(e.getMessage()).startsWith("Missing required subcommand")) {
            command.usage(err, ansi);
            return ExitCodes.USAGE;
        }
        return print(ExitCodes.USAGE, ParserErrors.message(e), ParserErrors.hint(e), e);
    }

    @Override
    public int handleExecutionException(Exception e, CommandLine command, ParseResult parsed) {
        return explain(e);
    }

    int explain(Exception e) {
        if (isEnding()) {
            return ExitCodes.INTERRUPTED; // A failure while Ctrl-C shuts everything down is no news.
        }
        if (e instanceof StandardOutput.WriteFailedException failed) {
            return failed.isBrokenPipe()
                    ? ExitCodes.BROKEN_PIPE
                    : print(ExitCodes.FAILURE, String.valueOf(e.getMessage()), null, e);
        }
        if (e instanceof CliException || e instanceof ServerFailedException) {
            return print(
                    Meaning.of((ShardflakeException) e), String.valueOf(e.getMessage()), e); // written for a terminal
        }
        return Meaning.of(e)
                .map(meaning -> print(meaning, text(e), e))
                .orElseGet(() -> print(Meaning.ofDefect(stacktrace.getAsBoolean()), "unexpected: " + e, e));
    }

    /** Reports a lack of memory; a single row may be larger than the heap, since the driver holds rows as a whole. */
    int explain(OutOfMemoryError e) {
        return print(
                ExitCodes.FAILURE,
                String.format(
                        Locale.ROOT,
                        "%s: this Java may use %,d MiB",
                        e.getMessage(),
                        Runtime.getRuntime().maxMemory() >> 20),
                "allow more with SHARDFLAKE_JAVA_OPTS=-Xmx4g, some ten times the size of the largest row, and run the command again",
                e);
    }

    private int print(Meaning meaning, String message, Exception e) {
        return print(ExitCodes.of(meaning.kind()), message, meaning.advice(), e);
    }

    /** The meaning of a failure to its caller. */
    private record Meaning(Kind kind, @Nullable CharSequence advice) {

        static Optional<Meaning> of(Exception e) {
            return ServerFailure.of(e)
                    .map(failure -> new Meaning(failure.kind(), failure.advice()))
                    .or(() -> e instanceof ShardflakeException ours ? Optional.of(of(ours)) : ofOther(e))
                    .map(meaning -> meaning.advice != null ? meaning : new Meaning(meaning.kind, advice(e)));
        }

        private static @Nullable CharSequence advice(Exception e) {
            return connecting(e)
                    .flatMap(ServerFailure::whileConnecting)
                    .<CharSequence>map(ServerFailure::advice)
                    .or(() -> Sql.hint(e))
                    .orElse(null);
        }

        static Meaning of(ShardflakeException e) {
            return new Meaning(e.kind(), e.advice().orElse(null));
        }

        /** The meaning of library exceptions that have no kind. No table, which would load all of them for a mistyped id. */
        private static Optional<Meaning> ofOther(Exception e) {
            if (e instanceof NewerVersionException) {
                return Optional.of(new Meaning(Kind.PRECONDITION, NewerVersionException.REMEDY));
            }
            boolean isKnown = e instanceof DeploymentException
                    || e instanceof PostgresClusterException
                    || e instanceof SQLException;
            return isKnown ? Optional.of(new Meaning(Kind.FAILURE, null)) : Optional.empty();
        }

        static Meaning ofDefect(boolean isTraced) {
            return new Meaning(
                    Kind.FAILURE, isTraced ? null : "run it again with --stacktrace and report what it shows");
        }
    }

    /** The message without the parts that are shown elsewhere or left out. A server's has detail, hint and position on lines of their own. */
    private static String text(Exception e) {
        String message = connecting(e)
                .filter(cause -> DRIVER_SAYS.equals(e.getMessage()))
                .map(cause -> "cannot connect: " + ServerUrl.whyUnreachable(cause))
                .orElseGet(() -> String.valueOf(e.getMessage()));
        return NoAnswerException.in(e)
                .map(silent -> silent.explain(message, e))
                .orElse(message)
                .replaceFirst("^(ERROR|FATAL): ", "")
                .lines()
                .map(String::strip)
                .filter(line -> NOISE.stream().noneMatch(line::startsWith))
                .map(line -> line.replaceFirst("^Detail: ", "").replaceFirst(": (ERROR|FATAL): ", ": "))
                .map(ErrorLines::abbreviated)
                .collect(Collectors.joining("; "))
                .replace("; - ", "\n  "); // the items of a list
    }

    /** The failed connection among the causes, recognized by SQLSTATEs that only such failures have. */
    private static Optional<SQLException> connecting(Throwable e) {
        return Stream.iterate(e, cause -> cause != null, Throwable::getCause)
                .filter(SQLException.class::isInstance)
                .map(SQLException.class::cast)
                .filter(cause -> String.valueOf(cause.getSQLState()).matches("08001|08004|28...|3D000"))
                .findFirst();
    }

    private int print(int exitCode, String message, @Nullable CharSequence hint, Throwable e) {
        err.print(ansi.string("@|bold,red error:|@ "));
        err.println(message);
        if (hint != null) {
            err.print(ansi.string("@|bold hint:|@ "));
            err.println(hint);
        }
        if (stacktrace.getAsBoolean()) {
            e.printStackTrace(err);
        }
        return exitCode;
    }

    private static boolean isEnding() {
        Thread probe = new Thread(() -> {});
        try {
            Runtime.getRuntime().addShutdownHook(probe);
            Runtime.getRuntime().removeShutdownHook(probe);
            return false;
        } catch (IllegalStateException e) {
            return true;
        }
    }
}
