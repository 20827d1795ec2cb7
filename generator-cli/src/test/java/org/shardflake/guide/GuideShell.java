/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.guide;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A shell in which {@code shardflake} and {@code psql} are found, in a directory of its own. */
final class GuideShell implements AutoCloseable {

    /** The first deployment archives the classes that it has loaded, so that the commands after it start faster. */
    private static final String SHARDFLAKE = """
            archive='%3$s'
            set -- -jar '%2$s' "$@"
            options="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable"
            if [ -f "$archive" ]; then
                exec '%1$s' $options -XX:SharedArchiveFile="$archive" "$@"
            elif [ "${3-} ${4-}" != "schema deploy" ]; then
                exec '%1$s' $options "$@"
            fi
            '%1$s' $options -XX:ArchiveClassesAtExit="$archive.new" "$@"
            code=$?
            mv "$archive.new" "$archive" 2>/dev/null
            exit $code""";

    /** For all shells of this JVM, which run one after the other. */
    private static final Path ARCHIVE = archive();

    private static final String END = "guide-shell-end";

    private final Process shell;
    private final Writer commands;
    private final BufferedReader output;

    /** What a command printed on both of its outputs, and how it ended. */
    record Result(List<String> lines, int exitCode) {}

    GuideShell(Path directory, Map<String, String> environment) throws IOException {
        Path bin = Files.createDirectories(directory.resolve("bin"));
        Path work = Files.createDirectories(directory.resolve("work"));
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        Path jar = Path.of("target", "shardflake.jar").toAbsolutePath();
        // Not the launcher: in a checkout it would build.
        script(bin.resolve("shardflake"), SHARDFLAKE.formatted(java, jar, ARCHIVE));
        Path launcher = Files.createDirectories(work.resolve("generator-cli")).resolve("shardflake");
        Files.createSymbolicLink(launcher, bin.resolve("shardflake"));
        script(
                bin.resolve("psql"),
                "exec '%s' -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp '%s' %s \"$@\""
                        .formatted(java, System.getProperty("java.class.path"), Psql.class.getName()));
        ProcessBuilder builder = new ProcessBuilder("bash", "--norc", "--noprofile").directory(work.toFile());
        builder.redirectErrorStream(true);
        Map<String, String> all = new HashMap<>(environment);
        all.put("PATH", bin + ":" + builder.environment().get("PATH"));
        builder.environment().keySet().removeIf(name -> name.startsWith("PG") || name.startsWith("SHARDFLAKE"));
        builder.environment().putAll(all);
        this.shell = builder.start();
        this.commands = shell.outputWriter(UTF_8);
        this.output = shell.inputReader(UTF_8);
    }

    private static Path archive() {
        try {
            Path directory = Files.createTempDirectory("shardflake-guide");
            Path archive = directory.resolve("classes.jsa");
            directory.toFile().deleteOnExit();
            archive.toFile().deleteOnExit(); // Before its directory.
            return archive;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void script(Path file, String line) throws IOException {
        Files.writeString(file, "#!/bin/sh\n" + line + "\n");
        if (!file.toFile().setExecutable(true)) {
            throw new IOException("cannot make %s executable".formatted(file));
        }
    }

    Result run(String command) throws IOException {
        commands.write("{ %s\n} </dev/null\necho; echo %s $?\n".formatted(command, END));
        commands.flush();
        List<String> lines = new ArrayList<>();
        while (true) {
            String line = output.readLine();
            if (line == null) {
                throw new IOException("the shell ended while it ran " + command);
            }
            if (line.startsWith(END)) {
                lines.remove(lines.size() - 1); // of the echo before it
                return new Result(lines, Integer.parseInt(line.substring(END.length() + 1)));
            }
            lines.add(line);
        }
    }

    @Override
    public void close() throws IOException {
        commands.close();
        try {
            if (!shell.waitFor(60, TimeUnit.SECONDS)) {
                shell.destroyForcibly();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
