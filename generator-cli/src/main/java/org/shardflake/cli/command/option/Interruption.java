/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;

/** The text on stderr when Ctrl-C ends a command that changes something: what is left, and the command that continues. Thread-safe. */
public final class Interruption {

    /** The time limit for composing the text. */
    private static final long PATIENCE_MILLIS = 3000;

    private static final String WITHOUT_CATALOG = "interrupted; run the same command again to continue";

    private static volatile @Nullable Supplier<String> words;

    private Interruption() {}

    /**
     * Sets the text for a command.
     *
     * @param left what is left undone, and how to go back; asked for when it happens
     */
    public static void expect(CommandSpec command, Supplier<String> left) {
        words = () -> "interrupted: %s%nto continue: %s".formatted(left.get(), again(command));
    }

    /** The text for the running command; empty if it changes nothing. */
    public static String words() {
        Supplier<String> its = words;
        if (its == null) {
            return "";
        }
        return CompletableFuture.supplyAsync(its)
                .exceptionally(failure -> WITHOUT_CATALOG)
                .completeOnTimeout(WITHOUT_CATALOG, PATIENCE_MILLIS, TimeUnit.MILLISECONDS)
                .join();
    }

    /** The command line as it was typed, quoted for a shell, without passwords. */
    static String again(CommandSpec command) {
        List<String> typed = command.root().commandLine().getParseResult().originalArgs();
        return "shardflake " + typed.stream().map(Interruption::quote).collect(Collectors.joining(" "));
    }

    private static String quote(String word) {
        String shown = word.replaceFirst("(//[^:@/]+):[^@/]*@", "$1@").replaceFirst("([?&]password=)[^&]*", "$1...");
        return shown.matches("[\\w@%+=:,./-]+") ? shown : "'" + shown.replace("'", "'\\''") + "'";
    }
}
