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
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;
import org.shardflake.catalog.CatalogUnavailableException;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ErrorLines;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresClusterException;
import org.shardflake.install.ServerFailedException;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.NoAnswerException;
import org.shardflake.server.PoolerException;
import org.shardflake.server.StandbyException;
import org.shardflake.sql.DeploymentException;
import org.shardflake.sql.NewerVersionException;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/** Turns any failure into {@code error:} and {@code hint:} lines on standard error, and an exit code. */
final class ErrorReport implements IParameterExceptionHandler, IExecutionExceptionHandler {

    /** Lines of a server's message that are shown elsewhere or not at all: a row may contain secrets. */
    private static final List<String> NOISE = List.of("Hint: ", "Where: ", "Detail: Failing row ");

    private static final String SILENT =
            "see whether the machine and its disks work; when the server answers again, run the same command again";

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
        String name = command.getCommandSpec().qualifiedName();
        if (e.getCause() instanceof CliException cli) {
            return explain(cli); // Settings are read while the command line is parsed.
        }
        if (String.valueOf(e.getMessage()).startsWith("Missing required subcommand")) {
            command.usage(err, ansi);
            return ExitCodes.USAGE;
        }
        List<String> suggestions =
                e instanceof UnmatchedArgumentException unmatched ? unmatched.getSuggestions() : List.of();
        String hint = suggestions.isEmpty()
                ? "see %s --help".formatted(name)
                : "did you mean %s?".formatted(String.join(" or ", suggestions));
        String message = String.valueOf(e.getMessage()).replaceFirst("^Error: ", "");
        return print(ExitCodes.USAGE, lowerCaseFirst(message), hint, e);
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
                    : print(ExitCodes.FAILURE, "cannot write to standard output: " + e.getMessage(), null, e);
        }
        if (e instanceof CliException || e instanceof ServerFailedException) {
            ShardflakeException said = (ShardflakeException) e;
            return print(
                    ExitCodes.of(said.kind()),
                    String.valueOf(e.getMessage()),
                    said.hint().orElse(null),
                    e);
        }
        Optional<NoAnswerException> silent = NoAnswerException.in(e);
        if (silent.isPresent()) {
            return print(ExitCodes.FAILURE, silent.get().explain(String.valueOf(e.getMessage()), e), SILENT, e);
        }
        if (isOf(StandbyException.class, e)) {
            return print(ExitCodes.PRECONDITION, withoutHint(e), ServerFailedException.PRIMARY_NEEDED, e);
        }
        if (isOf(PoolerException.class, e)) {
            return print(ExitCodes.PRECONDITION, withoutHint(e), ServerFailedException.DIRECT_NEEDED, e);
        }
        if (e instanceof ShardflakeException ours) {
            return print(
                    ExitCodes.of(ours.kind()),
                    withoutHint(e),
                    ours.hint().or(() -> Sql.hint(e)).or(() -> hintOfCatalog(e)).orElse(null),
                    e);
        }
        if (e instanceof SQLException) {
            return print(ExitCodes.FAILURE, withoutHint(e), Sql.hint(e).orElse(null), e);
        }
        if (e instanceof NewerVersionException) {
            return print(ExitCodes.PRECONDITION, withoutHint(e), "use the newer shardflake that deployed it", e);
        }
        if (e instanceof DeploymentException) {
            return print(ExitCodes.FAILURE, withoutHint(e), null, e);
        }
        if (e instanceof PostgresClusterException) {
            return print(ExitCodes.FAILURE, String.valueOf(e.getMessage()), null, e);
        }
        String hint = stacktrace.getAsBoolean() ? null : "run it again with --stacktrace and report what it shows";
        return print(ExitCodes.FAILURE, "unexpected: " + e, hint, e);
    }

    private static Optional<String> hintOfCatalog(Exception e) {
        if (!(e instanceof CatalogUnavailableException) || !(e.getCause() instanceof SQLException cause)) {
            return Optional.empty();
        }
        return Sql.isNotAllowed(cause)
                ? Optional.of(
                        "somebody who may read the catalog sees what this role needs: shardflake grants --for doctor --role NAME, or --for moves, deploy or application")
                : ServerFailedException.hint(cause);
    }

    private static boolean isOf(Class<? extends SQLException> type, Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (type.isInstance(cause)) {
                return true;
            }
        }
        return false;
    }

    /** A server's message comes with detail, hint and position on separate lines. */
    private static String withoutHint(Exception e) {
        return String.valueOf(e.getMessage())
                .replaceFirst("^(ERROR|FATAL): ", "")
                .lines()
                .map(String::strip)
                .filter(line -> NOISE.stream().noneMatch(line::startsWith))
                .map(line -> line.replaceFirst("^Detail: ", "").replaceFirst(": (ERROR|FATAL): ", ": "))
                .map(ErrorLines::abbreviated)
                .collect(Collectors.joining("; "))
                .replace("; - ", "\n  "); // the items of a list
    }

    private int print(int exitCode, String message, @Nullable CharSequence hint, Exception e) {
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

    private static String lowerCaseFirst(String text) {
        return text.substring(0, 1).toLowerCase(Locale.ROOT) + text.substring(1);
    }
}
