/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.IdLayout;
import org.shardflake.ShardflakeId;
import org.shardflake.cli.CliException;
import org.shardflake.cli.ExitCodes;
import org.shardflake.cli.Shardflake;
import org.shardflake.cli.output.OutputFormat;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code shardflake id decode}: what ids say, one a line. */
@Command(
        name = "decode",
        description = {
            "Shows when and in which shard ids were made.",
            "Ids are decimal, signed or unsigned; they come as arguments or, with none or '-', from standard input,"
                    + " one a line. A bad one is named on standard error and the rest still decoded.",
            "With --scheme, ids of another scheme, in its own form and counting from its own epoch unless one is given;"
                    + " --scheme auto says what they could be, most plausible first."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {"0:all decoded", "1:at least one was bad", "2:the command line is wrong"},
        footer = {"", "Example: psql -Atc 'SELECT id FROM shard_0007.photo' | shardflake id decode -o json"})
final class IdDecodeCommand implements Callable<Integer> {

    private static final int BLOCK = 1 << 15;

    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "ID", arity = "0..*", description = "Ids, or '-' for standard input.")
    private @Nullable List<String> ids;

    @Option(
            names = "--scheme",
            paramLabel = "NAME",
            completionCandidates = SchemeNames.WithAuto.class,
            description = "What the ids are of: ${COMPLETION-CANDIDATES}.")
    private @Nullable String scheme;

    @Mixin
    private EpochMixin epoch;

    @Mixin
    private OutputMixin output;

    private final StringBuilder block = new StringBuilder(BLOCK + 256);
    private @Nullable SchemeDecoder decoder;
    private boolean headed;
    private boolean allGood = true;

    @Override
    public Integer call() {
        List<String> ids = this.ids == null ? List.of("-") : this.ids;
        checkOptions(ids);
        IdLayout layout = IdLayout.DEFAULT;
        if (scheme == null) {
            layout = epoch.layout();
        } else {
            boolean ownEpoch = spec.commandLine().getParseResult().hasMatchedOption("--epoch");
            decoder = new SchemeDecoder(scheme, ownEpoch ? epoch.epoch() : null, output);
        }
        for (int i = 0; i < ids.size(); i++) {
            if (ids.get(i).equals("-")) {
                decodeInput(layout);
            } else {
                decode(layout, ids.get(i), "argument", i + 1);
            }
        }
        write();
        if (decoder != null) {
            decoder.end(spec.commandLine().getOut());
        }
        return allGood ? ExitCodes.OK : ExitCodes.FAILURE;
    }

    /** Negative ids make unknown options arrive here as ids; a mistyped option must not pass for one. */
    private void checkOptions(List<String> ids) {
        for (String id : ids) {
            if (id.length() > 1 && id.charAt(0) == '-' && !Character.isDigit(id.charAt(1))) {
                throw new ParameterException(spec.commandLine(), "Unknown option: '%s'".formatted(id));
            }
        }
    }

    private void decodeInput(IdLayout layout) {
        Shardflake shardflake = (Shardflake) spec.root().userObject();
        BufferedReader lines = new BufferedReader(new InputStreamReader(shardflake.in(), UTF_8), 1 << 16);
        try {
            long number = 0;
            while (true) {
                if (block.length() > BLOCK || !lines.ready()) {
                    write(); // The next read may wait: show what there is, to a person or the next in the pipe.
                    spec.commandLine().getOut().flush();
                }
                String line = lines.readLine();
                if (line == null) {
                    return;
                }
                number++;
                if (!line.isBlank()) {
                    decode(layout, line.strip(), "line", number);
                }
            }
        } catch (IOException e) {
            write();
            throw new CliException(ExitCodes.FAILURE, "cannot read standard input: " + e.getMessage(), null)
                    .causedBy(e);
        }
    }

    private void decode(IdLayout layout, String text, String place, long number) {
        if (decoder != null) {
            String error = decoder.decode(text, block);
            if (error != null) {
                report(place, number, error);
            }
            return;
        }
        long id;
        try {
            id = ShardflakeId.parse(text).value();
        } catch (NumberFormatException e) {
            report(place, number, String.valueOf(e.getMessage()));
            return;
        }
        if (!headed && output.format() == OutputFormat.TABLE) {
            headed = true;
            DecodedId.appendHeader(block);
        }
        DecodedId.append(block, layout, id, output.format());
    }

    private void report(String place, long number, String error) {
        allGood = false;
        spec.commandLine().getErr().printf("error: %s %d: %s%n", place, number, error);
    }

    private void write() {
        spec.commandLine().getOut().append(block);
        block.setLength(0);
    }
}
