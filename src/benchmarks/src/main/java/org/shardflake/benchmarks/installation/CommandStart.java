/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.installation;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.shardflake.benchmarks.report.Spread;

/** What starting the command costs, which is part of every command's time. */
public final class CommandStart {

    private CommandStart() {}

    /** How long {@code shardflake --version} takes, in seconds. */
    public static Spread seconds(int times) throws IOException, InterruptedException {
        ShardflakeCommand command = new ShardflakeCommand(Path.of("").toAbsolutePath(), Map.of());
        command.run("--version"); // the first one reads the files into memory
        List<Double> seconds = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            seconds.add(command.run("--version").seconds());
        }
        return Spread.of(seconds);
    }
}
