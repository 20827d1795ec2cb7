/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.shardflake.benchmarks.ids.Sql;
import org.shardflake.benchmarks.installation.Installation;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.sql.FunctionLibrary;

/** All shards of one server copied to another one by {@code pg_dump} and {@code pg_restore}, into a database of its own. */
final class DumpAndRestore {

    private static final String DATABASE = "restored";
    private static final Pattern VERSION = Pattern.compile("\\(PostgreSQL\\) (\\d+)");

    private final Installation installation;

    DumpAndRestore(Installation installation) {
        this.installation = installation;
    }

    /** Why the programs cannot be used with this server, or nothing if they can. */
    static String obstacle(PostgresServer server) throws IOException, InterruptedException {
        for (String program : List.of("pg_dump", "pg_restore")) {
            String obstacle = obstacle(program, version(program), server.majorVersion());
            if (!obstacle.isEmpty()) {
                return obstacle;
            }
        }
        return "";
    }

    /**
     * Why a program cannot be used, or nothing if it can.
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

    private static String version(String program) throws IOException, InterruptedException {
        Process process;
        try {
            process = new ProcessBuilder(program, "--version")
                    .redirectErrorStream(true)
                    .start();
        } catch (IOException e) {
            return ""; // there is no such program
        }
        String version = new String(process.getInputStream().readAllBytes(), UTF_8);
        return process.waitFor() == 0 ? version : "";
    }

    /**
     * Copies the shards and removes the copy, and returns how many seconds copying took.
     *
     * @param options of pg_dump besides {@code -Fd -j2}
     */
    double seconds(String source, String target, List<String> options)
            throws SQLException, IOException, InterruptedException {
        PostgresServer server = installation.server(target);
        try (Connection connection = server.connect()) {
            Sql.execute(connection, "DROP DATABASE IF EXISTS " + DATABASE, "CREATE DATABASE " + DATABASE);
        }
        try (Connection connection = server.connect(DATABASE)) {
            FunctionLibrary.deploy(connection); // The shards' defaults and fences call it.
        }
        installation.checkpoint();
        Path directory = Files.createTempDirectory("dump-");
        try {
            double seconds = copy(installation.uri(source), server.uri(DATABASE), directory.resolve("dump"), options);
            requireRows(source, server);
            return seconds;
        } finally {
            delete(directory);
            try (Connection connection = server.connect()) {
                Sql.execute(connection, "DROP DATABASE " + DATABASE);
            }
        }
    }

    private static double copy(String from, String to, Path dump, List<String> options)
            throws IOException, InterruptedException {
        List<String> dumping = new ArrayList<>(List.of("pg_dump", "-Fd", "-j2"));
        dumping.addAll(options);
        dumping.addAll(List.of("-n", "shard_*", "-f", dump.toString(), from));
        long start = System.nanoTime();
        run(dumping);
        run(List.of("pg_restore", "-j2", "-d", to, dump.toString()));
        return (System.nanoTime() - start) / 1e9;
    }

    private static void run(List<String> command) throws IOException, InterruptedException {
        int exitCode = new ProcessBuilder(command).inheritIO().start().waitFor();
        if (exitCode != 0) {
            throw new IllegalStateException("%s ended with %d".formatted(command.get(0), exitCode));
        }
    }

    /** So that nothing counts as copied that was not. */
    private void requireRows(String source, PostgresServer restored) throws SQLException {
        for (int shard = 0; shard < installation.shards(); shard++) {
            String query = "SELECT (SELECT count(*) FROM shard_%1$04d.photo) + (SELECT count(*) FROM shard_%1$04d.tag)"
                    .formatted(shard);
            try (Connection from = installation.connect(source);
                    Connection to = restored.connect(DATABASE)) {
                double expected = Sql.number(from, query);
                double found = Sql.number(to, query);
                if (found != expected) {
                    throw new IllegalStateException(
                            "of shard %d %s rows were restored, not %s".formatted(shard, found, expected));
                }
            }
        }
    }

    private static void delete(Path directory) throws IOException {
        List<Path> all;
        try (Stream<Path> files = Files.walk(directory)) {
            all = new ArrayList<>(files.toList());
        }
        Collections.reverse(all);
        for (Path file : all) {
            Files.delete(file);
        }
    }
}
