/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryLong;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;

/** A shard's schema through pg_dump, where one is installed that is not older than the server. */
class DumpIT {

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(2).prepareOnce("library", FunctionLibrary::deploy);

    @TempDir
    Path directory;

    @Test
    void restoredShardGoesOnWhereItWas() throws SQLException, IOException, InterruptedException {
        TestDatabase source = postgres.database(0);
        TestDatabase target = postgres.database(1);
        Path pgDump = pgDump(source.server().majorVersion());
        long last;
        try (Connection connection = source.connect()) {
            execute(
                    connection,
                    "SELECT shardflake.create_shard(7)",
                    "CREATE TABLE shard_0007.photo (id bigint PRIMARY KEY, uid bigint)",
                    "SELECT shardflake.add_id_sequence('shard_0007.photo')",
                    "INSERT INTO shard_0007.photo (uid) SELECT n FROM generate_series(1, 1000) n",
                    // As if the source's clock had been an hour ahead of the target's.
                    "SELECT setval('shard_0007.photo_id_seq', shardflake.now_ticks() + 3600000::bigint * 1024)");
            last = queryLong(connection, "INSERT INTO shard_0007.photo (uid) VALUES (7) RETURNING id");
        }

        Path dump = directory.resolve("shard_0007.sql");
        run(pgDump.toString(), "--dbname=" + source.uri(), "--schema=shard_0007", "--inserts", "--file=" + dump);
        try (Connection connection = target.connect()) {
            // psql's own commands (\restrict), which newer versions write, are not SQL.
            execute(connection, Files.readString(dump).replaceAll("(?m)^\\\\.*$", ""));
        }

        try (Connection connection = target.connect()) {
            assertThat(queryLong(connection, "SELECT count(*) FROM shard_0007.photo"))
                    .isEqualTo(1001);
            assertThat(queryLong(connection, "INSERT INTO shard_0007.photo (uid) VALUES (7) RETURNING id"))
                    .as("the sequence came along")
                    .isGreaterThan(last);
            assertThat(queryLong(connection, "SELECT shardflake.id_shard(shard_0007.next_id())"))
                    .isEqualTo(7);
        }
    }

    private static Path pgDump(int server) throws IOException, InterruptedException {
        Optional<Path> found = Optional.empty();
        for (Path candidate : candidates()) {
            if (Files.isExecutable(candidate) && major(run(candidate.toString(), "--version")) >= server) {
                found = Optional.of(candidate);
            }
        }
        assumeTrue(found.isPresent(), "no pg_dump of version " + server + " or later is installed");
        return found.get();
    }

    private static Iterable<Path> candidates() throws IOException {
        Stream<Path> path = Pattern.compile(Pattern.quote(File.pathSeparator))
                .splitAsStream(System.getenv().getOrDefault("PATH", ""))
                .map(Path::of);
        Path debian = Path.of("/usr/lib/postgresql");
        try (Stream<Path> versions = Files.isDirectory(debian) ? Files.list(debian) : Stream.empty()) {
            return Stream.concat(path, versions.map(version -> version.resolve("bin")).toList().stream())
                    .map(bin -> bin.resolve("pg_dump"))
                    .toList();
        }
    }

    private static int major(String version) {
        Matcher number = Pattern.compile("\\d+").matcher(version);
        return number.find() ? Integer.parseInt(number.group()) : 0;
    }

    private static String run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }
}
