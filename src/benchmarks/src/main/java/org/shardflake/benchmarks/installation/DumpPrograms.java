/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.installation;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.shardflake.cluster.PostgresServer;

/** {@code pg_dump} and {@code pg_restore}, as they are on the machine. */
public final class DumpPrograms {

    private static final Pattern VERSION = Pattern.compile("\\(PostgreSQL\\) (\\d+)");

    private DumpPrograms() {}

    /** The reason why the programs cannot be used with this server, or empty if they can. */
    public static String obstacle(PostgresServer server) throws IOException, InterruptedException {
        for (String program : List.of("pg_dump", "pg_restore")) {
            String obstacle = obstacle(program, version(program), server.majorVersion());
            if (!obstacle.isEmpty()) {
                return obstacle;
            }
        }
        return "";
    }

    /**
     * The reason why a program cannot be used, or empty if it can.
     *
     * @param version what it says of itself, empty if it is not there
     */
    static String obstacle(String program, String version, int server) {
        Matcher matcher = VERSION.matcher(version);
        if (!matcher.find()) {
            return "there is no %s on the PATH".formatted(program);
        }
        int found = Integer.parseInt(matcher.group(1));
        return found == server
                ? ""
                : "%s is of PostgreSQL %d, the servers are of %d; -Dpostgres.version=%d starts servers that fit"
                        .formatted(program, found, server, found);
    }

    private static String version(String program) throws InterruptedException {
        try {
            Process process = new ProcessBuilder(program, "--version").start();
            String version = new String(process.getInputStream().readAllBytes(), UTF_8);
            return process.waitFor() == 0 ? version : "";
        } catch (IOException e) {
            return ""; // not installed
        }
    }

    /** Runs one, and waits for it. */
    public static void run(List<String> command) throws IOException, InterruptedException {
        int exitCode = new ProcessBuilder(command).inheritIO().start().waitFor();
        if (exitCode != 0) {
            throw new IllegalStateException("%s ended with %d".formatted(command.get(0), exitCode));
        }
    }
}
