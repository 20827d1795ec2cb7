/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.util.concurrent.Callable;
import org.shardflake.ShardflakeId;
import org.shardflake.cli.command.option.IdKeyMixin;
import org.shardflake.cli.command.option.OutputMixin;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code shardflake id convert}: writes ids in another form, one a line. */
@Command(
        name = "convert",
        description = {
            "Writes ids in another form.",
            "decimal is PostgreSQL's; base32 has 13 characters and sorts like the number; shortcode is"
                    + " Instagram's; public hides time, shard and volume under a secret key. Ids are arguments or, with"
                    + " none or '-', lines of standard input. Bad ids are named on standard error and the rest are still"
                    + " converted. Pass a shortcode that begins with '-' after '--' or on standard input."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:all ids were converted",
            "1:at least one id of the input was bad, or the key cannot be read",
            "2:the command line is wrong, or an id on it, or there is no key"
        },
        footer = {"", "Example: shardflake id convert 11637205501278089 --to base32"})
final class IdConvertCommand implements Callable<Integer>, IdInput.Handler {

    @Mixin
    private IdsMixin ids;

    @Option(
            names = "--to",
            paramLabel = "FORM",
            defaultValue = "decimal",
            converter = IdForm.Converter.class,
            completionCandidates = IdForm.Names.class,
            description = "decimal, base32, shortcode or public (default: ${DEFAULT-VALUE}).")
    private IdForm to;

    @Mixin
    private IdKeyMixin key;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        return ids.handle(this);
    }

    @Override
    public void handle(String text, StringBuilder out) {
        ShardflakeId id = ids.read(text, key);
        String converted = to.write(id, key);
        switch (output.format()) {
            case TABLE -> out.append(converted).append('\n');
            case JSON -> appendJson(out, id, converted);
            case YAML -> appendYaml(out, id, converted);
        }
    }

    /** Appends one conversion as JSON; no form has a character that needs escaping. */
    private void appendJson(StringBuilder out, ShardflakeId id, String converted) {
        out.append("{\"id\":\"").append(id.value()).append("\",\"form\":\"").append(to);
        out.append("\",\"text\":\"").append(converted).append("\"}\n");
    }

    private void appendYaml(StringBuilder out, ShardflakeId id, String converted) {
        out.append("- id: \"").append(id.value()).append("\"\n  form: ").append(to);
        out.append("\n  text: \"").append(converted).append("\"\n");
    }
}
