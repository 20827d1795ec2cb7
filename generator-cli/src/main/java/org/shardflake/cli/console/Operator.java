/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import java.io.OutputStream;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;

/** Runs the commands that the console shows, as a terminal would. Thread-safe. */
public interface Operator {

    /** Whether a command changes something and can be run as shown. */
    boolean canRun(CliCommand command);

    /** Finds out what a command would do, without changing anything. Changes nothing. */
    Trial tryOut(ShownCommand command);

    /** Whether an answer confirms a command's question, as in a terminal. */
    boolean agrees(String answer);

    /**
     * Records in the map's history that a command is started, and from where, or how it ended.
     *
     * @throws ShardflakeException if the catalog does not take it
     */
    void record(String line);

    /**
     * Runs a command.
     *
     * @param question the one that was agreed to; to any other the answer is no
     * @param output takes what it prints and says
     */
    Outcome run(CliCommand command, String question, OutputStream output);

    /**
     * The result of a trial run of a command.
     *
     * @param command what was run to find out, such as the command with {@code --dry-run}; empty if there is no such way
     * @param output what that said
     * @param question what the command asks before it changes something, or empty
     */
    record Trial(String command, String output, String question, Outcome outcome) {}

    /**
     * The end of a command: its exit code, what that means, and whether the command was refused.
     *
     * @param meaning what its help says of the exit code
     * @param isRefusal whether a command that ends so when tried out would be refused
     */
    record Outcome(int exitCode, String meaning, boolean isRefusal) {}
}
