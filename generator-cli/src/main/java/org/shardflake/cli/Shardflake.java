/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.IdLayout;
import org.shardflake.cli.command.Commands;
import org.shardflake.cli.command.NextSteps;
import org.shardflake.cli.command.id.IdCommand;
import org.shardflake.cli.command.option.Interruption;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.config.Setting;
import org.shardflake.cli.config.Settings;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Progress;
import org.shardflake.cli.output.TerminalSize;
import org.shardflake.cli.server.PasswordCommands;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.UsageMessageSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/**
 * The {@code shardflake} command.
 *
 * <p>Start-up stays cheap because nothing here or in a command's fields and signatures names a driver, Liquibase or
 * another heavy library; such classes load when a command's method first needs them.
 */
@Command(
        name = "shardflake",
        description = "Runs one PostgreSQL database as thousands of logical shards on ordinary servers.",
        versionProvider = Shardflake.Version.class,
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:failure",
            "2:the command line is wrong",
            "3:partly done",
            "4:a precondition is not met",
            "5:verification failed"
        },
        footer = {"", "Example: shardflake id decode 11637205501278089"})
public final class Shardflake implements Callable<Integer>, Invocation.Root {

    private static final int HELP_WIDTH = 100;

    /** The smallest width of help texts that picocli accepts. */
    private static final int LEAST_HELP_WIDTH = 55;

    /** The types for which picocli would load converters although no option here uses them. */
    private static final String UNUSED_CONVERTERS = "java.time.*,java.sql.*";

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            scope = ScopeType.INHERIT,
            description = "Show this help and exit.")
    @SuppressWarnings("UnusedVariable") // picocli acts on it
    private boolean help;

    @Option(
            names = {"-V", "--version"},
            versionHelp = true,
            description = "Show the version and exit.")
    @SuppressWarnings("UnusedVariable") // picocli acts on it
    private boolean version;

    @Option(names = "--stacktrace", scope = ScopeType.INHERIT, description = "Show stack traces of errors.")
    private boolean stacktrace;

    @Option(
            names = "--no-color",
            scope = ScopeType.INHERIT,
            description = "No colours, as with NO_COLOR or TERM=dumb in the environment.")
    @SuppressWarnings("UnusedVariable") // main looks for it
    private boolean noColor;

    @Spec
    private CommandSpec spec;

    private final Invocation invocation;

    private Shardflake(InputStream in, Map<String, String> environment, Optional<Predicate<String>> agreement) {
        this.invocation = new Invocation(
                in, environment, new Settings(environment), new PasswordCommands(environment), agreement);
    }

    public static void main(String[] args) {
        Locale.setDefault(Locale.ROOT); // Libraries put numbers and dates into SQL by the default locale.
        AtomicBoolean hasEnded = new AtomicBoolean();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> interrupted(hasEnded)));
        OutputStream stderr = new FileOutputStream(FileDescriptor.err);
        Ansi ansi = ansi(args, System.getenv());
        int exitCode;
        try {
            exitCode = run(
                    Arguments.decode(args),
                    System.in,
                    new FileOutputStream(FileDescriptor.out),
                    stderr,
                    Arguments.decode(System.getenv()),
                    ansi);
        } catch (CliException e) {
            exitCode = new ErrorReport(new MessageWriter(stderr), ansi, () -> false).explain(e);
        }
        hasEnded.set(true);
        System.exit(exitCode);
    }

    /** Reports after Ctrl-C what is left, on a separate line, since the cursor is behind a {@code ^C} or a progress bar. */
    private static void interrupted(AtomicBoolean hasEnded) {
        if (hasEnded.get()) {
            return;
        }
        if (Progress.isTerminal()) {
            System.err.println();
        }
        String words = Interruption.words();
        if (!words.isEmpty()) {
            System.err.println(words);
        }
    }

    /** Chooses colours; picocli handles NO_COLOR and terminals, but not these cases, and needs the setting before it parses the option. */
    private static Ansi ansi(String[] args, Map<String, String> environment) {
        boolean plain = "dumb".equals(environment.get("TERM")) || List.of(args).contains("--no-color");
        return plain ? Ansi.OFF : Ansi.AUTO;
    }

    static int run(
            String[] args,
            InputStream in,
            OutputStream stdout,
            OutputStream stderr,
            Map<String, String> environment,
            Ansi ansi) {
        return new Shardflake(in, environment, Optional.empty()).execute(args, stdout, stderr, ansi);
    }

    @Override
    public int run(
            List<String> args, OutputStream output, Map<String, String> environment, Predicate<String> agreement) {
        return new Shardflake(InputStream.nullInputStream(), environment, Optional.of(agreement))
                .execute(args.toArray(String[]::new), output, output, Ansi.OFF);
    }

    private int execute(String[] given, OutputStream stdout, OutputStream stderr, Ansi ansi) {
        String[] args = Commands.withOptions(given);
        System.setProperty("picocli.converters.excludes", UNUSED_CONVERTERS);
        CommandLine commandLine = new CommandLine(this);
        groupCommands(commandLine);
        StandardOutput output = new StandardOutput(stdout);
        PrintWriter out = new PrintWriter(new OutputStreamWriter(new BufferedOutputStream(output, 1 << 16), UTF_8));
        PrintWriter err = new MessageWriter(stderr);
        ErrorReport report = new ErrorReport(err, ansi, () -> stacktrace);
        Commands.add(commandLine, args);
        commandLine.setDefaultValueProvider(this::defaultValue);
        commandLine.setUsageHelpWidth(helpWidth(args));
        commandLine.setOut(out);
        commandLine.setErr(err);
        commandLine.setColorScheme(CommandLine.Help.defaultColorScheme(ansi));
        commandLine.setParameterExceptionHandler(report);
        commandLine.setExecutionExceptionHandler(report);
        IdCommand.acceptNegativeIds(commandLine.getSubcommands());
        int exitCode;
        try {
            exitCode = commandLine.execute(args);
        } catch (OutOfMemoryError e) {
            exitCode = report.explain(e);
        }
        try {
            out.flush();
        } catch (StandardOutput.WriteFailedException e) {
            return report.explain(e);
        }
        return exitCode;
    }

    /** The width of help texts; commands without help do not ask the terminal, as that takes time. */
    private static int helpWidth(String[] args) {
        boolean isHelp = Stream.of(args).anyMatch(arg -> arg.equals("-h") || arg.equals("--help"));
        return isHelp
                ? Math.max(
                        LEAST_HELP_WIDTH,
                        Math.min(HELP_WIDTH, TerminalSize.current().width()))
                : HELP_WIDTH;
    }

    @Override
    public CommandLine commands() {
        return allCommands();
    }

    /** All commands, for describing rather than running them. */
    public static CommandLine allCommands() {
        CommandLine all = new CommandLine(new Shardflake(InputStream.nullInputStream(), Map.of(), Optional.empty()));
        groupCommands(all);
        Commands.addAll(all);
        return all;
    }

    private static void groupCommands(CommandLine commandLine) {
        commandLine.getHelpSectionMap().put(UsageMessageSpec.SECTION_KEY_COMMAND_LIST_HEADING, help -> "");
        commandLine
                .getHelpSectionMap()
                .put(UsageMessageSpec.SECTION_KEY_COMMAND_LIST, help -> "\n" + Commands.OVERVIEW);
    }

    /** Runs without a command: shows what to do next. */
    @Override
    public Integer call() throws SQLException {
        new NextSteps(invocation, spec.commandLine().getOut()).print();
        return ExitCodes.OK;
    }

    @Override
    public Invocation invocation() {
        return invocation;
    }

    /** The default of an option; the catalog has none, since its origin must be known. */
    private @Nullable String defaultValue(ArgSpec option) {
        if (!(option instanceof OptionSpec named)) {
            return null;
        }
        String name = named.longestName().replaceFirst("^--", "");
        return name.equals("catalog")
                ? null
                : invocation.settings().find(name).map(Setting::value).orElse(null);
    }

    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            String version = Shardflake.class.getPackage().getImplementationVersion();
            return new String[] {
                "shardflake " + (version == null ? "(not packaged)" : version),
                "id layout " + IdLayout.VERSION,
                "Java " + Runtime.version()
            };
        }
    }
}
