/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.io.InputStream;
import java.util.Map;
import org.shardflake.cli.config.Settings;
import picocli.CommandLine.Model.CommandSpec;

/**
 * The context of a command beside its arguments.
 *
 * @param in its standard input
 * @param environment its environment variables
 * @param settings option values from the environment and the file
 */
public record Invocation(InputStream in, Map<String, String> environment, Settings settings) {

    /** The root command, which holds it. */
    public interface Root {
        Invocation invocation();
    }

    static Invocation of(CommandSpec command) {
        return ((Root) command.root().userObject()).invocation();
    }
}
