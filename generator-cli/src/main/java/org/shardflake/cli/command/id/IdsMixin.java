/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeId;
import org.shardflake.cli.command.option.IdKeyMixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The ids that a command reads, and their form. */
final class IdsMixin {

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    @Parameters(paramLabel = "ID", arity = "0..*", description = "Ids, or '-' for standard input.")
    private @Nullable List<String> ids;

    @Option(
            names = "--from",
            paramLabel = "FORM",
            defaultValue = "decimal",
            converter = IdForm.Converter.class,
            completionCandidates = IdForm.Names.class,
            description = "decimal, base32, shortcode or public (default: ${DEFAULT-VALUE}).")
    private IdForm from;

    boolean areDecimal() {
        return from == IdForm.DECIMAL;
    }

    ShardflakeId read(String text, IdKeyMixin key) {
        return from.read(text, key);
    }

    /** Handles all ids, and returns the exit code. */
    int handle(IdInput.Handler handler) {
        return new IdInput(command, handler).handle(ids);
    }
}
