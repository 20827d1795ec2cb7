/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.IdLayout;
import org.shardflake.cli.command.option.IdKeyMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.output.OutputFormat;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake id decode}: shows the parts of ids, one a line. */
@Command(
        name = "decode",
        description = {
            "Shows when and in which shard ids were made.",
            "Ids are decimal, signed or unsigned, or in the form given with --from; they are arguments or, with"
                    + " none or '-', lines of standard input. Bad ids are named on standard error and the rest are still"
                    + " decoded. Pass a shortcode that begins with '-' after '--' or on standard input.",
            "A primary key that is its table's shard key, such as users.id, has other bits: 'shardflake map locate"
                    + " --uid' says its shard.",
            "With --scheme, decodes ids of another scheme in its own form, counting from its own epoch unless"
                    + " another is given; --scheme auto lists the schemes they could be of, most plausible first."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:all ids were decoded",
            "1:at least one id of the input was bad",
            "2:the command line is wrong, or an id on it"
        },
        footer = {"", "Example: psql -Atc 'SELECT id FROM shard_0007.photo' | shardflake id decode -o json"})
final class IdDecodeCommand implements Callable<Integer>, IdInput.Handler {

    @Spec
    private CommandSpec spec;

    @Mixin
    private IdsMixin ids;

    @Option(
            names = "--scheme",
            paramLabel = "NAME",
            completionCandidates = SchemeNames.WithAuto.class,
            description = "The scheme of the ids: ${COMPLETION-CANDIDATES}.")
    private @Nullable String scheme;

    @Mixin
    private IdKeyMixin key;

    @Mixin
    private IdEpochMixin epoch;

    @Mixin
    private OutputMixin output;

    private IdLayout layout = IdLayout.DEFAULT;
    private boolean headed;

    @Override
    public Integer call() {
        if (scheme != null) {
            return decodeOther(scheme);
        }
        layout = epoch.layout();
        return ids.handle(this);
    }

    /** Decodes ids of other schemes, in a separate method so that decoding Shardflake's own ids does not load those classes. */
    private int decodeOther(String scheme) {
        if (!ids.areDecimal()) {
            throw CliException.usage(
                    "--from is for ids of Shardflake; ids of other schemes are read in their own form");
        }
        SchemeDecoder decoder = new SchemeDecoder(scheme, epoch.given().orElse(null), output);
        int exitCode = ids.handle(decoder);
        decoder.end(spec.commandLine().getOut());
        return exitCode;
    }

    @Override
    public void handle(String text, StringBuilder out) {
        long id = ids.read(text, key).value();
        if (!headed && output.format() == OutputFormat.TABLE) {
            headed = true;
            DecodedId.appendHeader(out);
        }
        DecodedId.append(out, layout, id, output.format());
    }
}
