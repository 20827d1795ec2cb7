/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The ids given to a command: its arguments, or lines of standard input without arguments or with {@code -}. Bad ids are named on standard
 * error, and the rest are still handled.
 */
final class IdInput {

    private static final int BLOCK = 1 << 15;

    /** The action of a command on an id. */
    interface Handler {
        /**
         * Handles the text of one id, and appends the output.
         *
         * @throws IllegalArgumentException if the id is bad
         */
        void handle(String text, StringBuilder out);
    }

    private final CommandSpec spec;
    private final Handler handler;
    private final StringBuilder block = new StringBuilder(BLOCK + 256);
    private int exitCode = ExitCodes.OK;

    IdInput(CommandSpec spec, Handler handler) {
        this.spec = spec;
        this.handler = handler;
    }

    /** Handles all ids, and returns the exit code. */
    int handle(@Nullable List<String> arguments) {
        List<String> ids = arguments == null ? List.of("-") : arguments;
        checkOptions(ids);
        for (int i = 0; i < ids.size(); i++) {
            if (ids.get(i).equals("-")) {
                handleLines();
            } else {
                handle(ids.get(i), "argument", i + 1, ExitCodes.USAGE);
            }
        }
        write();
        return exitCode;
    }

    /** Refuses mistyped options, which are parsed as ids because negative ids look like options. */
    private void checkOptions(List<String> ids) {
        for (String id : ids) {
            if (id.length() > 1 && id.charAt(0) == '-' && !Character.isDigit(id.charAt(1)) && !isAfterDashes(id)) {
                throw new UnmatchedArgumentException(spec.commandLine(), List.of(id));
            }
        }
    }

    /** Whether an id follows {@code --}, as a shortcode that begins with a dash must. */
    private boolean isAfterDashes(String id) {
        List<String> all = spec.commandLine().getParseResult().originalArgs();
        int dashes = all.indexOf("--");
        return dashes >= 0 && all.lastIndexOf(id) > dashes;
    }

    private void handleLines() {
        Invocation invocation = Invocation.of(spec);
        BufferedReader lines = new BufferedReader(new InputStreamReader(invocation.in(), UTF_8), 1 << 16);
        try {
            long number = 0;
            while (true) {
                if (block.length() > BLOCK || !lines.ready()) {
                    write(); // The next read may block: show what there is, to a person or the next command in the
                    // pipe.
                    spec.commandLine().getOut().flush();
                }
                String line = lines.readLine();
                if (line == null) {
                    return;
                }
                number++;
                if (!line.isBlank()) {
                    handle(line.strip(), "line", number, ExitCodes.FAILURE);
                }
            }
        } catch (IOException e) {
            write();
            throw new CliException(Kind.FAILURE, "cannot read standard input: " + e.getMessage(), null, e);
        }
    }

    private void handle(String text, String place, long number, int exitCodeIfBad) {
        try {
            handler.handle(text, block);
        } catch (IllegalArgumentException e) {
            exitCode = Math.max(exitCode, exitCodeIfBad);
            spec.commandLine().getErr().printf("error: %s %s: %s%n", place, number, e.getMessage());
        }
    }

    private void write() {
        spec.commandLine().getOut().append(block);
        block.setLength(0);
    }
}
