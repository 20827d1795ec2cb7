/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.util.Map;
import picocli.CommandLine.Help.Ansi;

/** Runs the real command inside the test's JVM. */
final class Cli {

    /** What a run left: its exit code and all it wrote. */
    record Result(int exitCode, String out, String err) {}

    private Cli() {}

    static Result launch(String... args) {
        return launch(InputStream.nullInputStream(), Map.of(), args);
    }

    static Result launchWithInput(String input, String... args) {
        return launch(new ByteArrayInputStream(input.getBytes(UTF_8)), Map.of(), args);
    }

    static Result launch(InputStream in, Map<String, String> environment, String... args) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int exitCode = Shardflake.run(args, in, out, err, environment, Ansi.OFF);
        return new Result(exitCode, out.toString(UTF_8), err.toString(UTF_8));
    }
}
