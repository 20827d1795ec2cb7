/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.deploy.ShardSchemaCopy;

/** A shard with one of everything before and after a move, as pg_dump sees it, where one is installed that can read the server. */
@Tag("full")
class DumpedMoveIT {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;

    @BeforeEach
    void create() throws Exception {
        try (InputStream text = Objects.requireNonNull(ShardSchemaCopy.class.getResourceAsStream("everything.sql"))) {
            shards = AccountShards.create(postgres, 2, 2, directory, new String(text.readAllBytes(), UTF_8));
        }
        for (String server : List.of("db1", "db2")) {
            shards.execute(server, "CREATE ROLE dump_app; CREATE ROLE dump_reader");
        }
    }

    @AfterEach
    void drop() throws SQLException {
        for (String server : List.of("db1", "db2")) {
            shards.execute(
                    server,
                    "DROP OWNED BY dump_app CASCADE; DROP OWNED BY dump_reader CASCADE; DROP ROLE dump_app, dump_reader");
        }
    }

    @Test
    void ownersPrivilegesAndCommentsDoNotRevertWhenAShardIsMoved() throws Exception {
        Path pgDump = pgDump(shards.database("db1").server().majorVersion());
        shards.execute("db1", """
                SET search_path = shard_0001, public;
                INSERT INTO photo (uid, title, mood, owner, size) SELECT n, 'Title ' || n, 'glad', 'ann', ROW(n, n, 'cm')::size FROM generate_series(1, 100) n;
                INSERT INTO comment (photo_id, text) SELECT id, 'seen' FROM photo;
                ALTER SCHEMA shard_0001 OWNER TO dump_app;
                ALTER TABLE photo OWNER TO dump_app; ALTER VIEW mine OWNER TO dump_app;
                ALTER FUNCTION secret() OWNER TO dump_app; ALTER TYPE mood OWNER TO dump_app; ALTER TYPE span OWNER TO dump_app;
                ALTER DOMAIN nick OWNER TO dump_app; ALTER STATISTICS photo_both OWNER TO dump_app;
                GRANT USAGE ON SCHEMA shard_0001 TO dump_reader;
                GRANT SELECT ON photo TO dump_reader WITH GRANT OPTION; GRANT UPDATE (title, mood) ON photo TO dump_reader;
                REVOKE EXECUTE ON FUNCTION secret() FROM PUBLIC; GRANT EXECUTE ON FUNCTION secret() TO dump_reader;
                ALTER DEFAULT PRIVILEGES FOR ROLE dump_app IN SCHEMA shard_0001 GRANT SELECT ON TABLES TO dump_reader;
                COMMENT ON TABLE photo IS 'other'; COMMENT ON INDEX photo_plain IS 'plain'; COMMENT ON COLUMN photo.title IS NULL;
                COMMENT ON CONSTRAINT short ON DOMAIN nick IS 'short'; COMMENT ON POLICY own ON photo IS 'own'
                """);
        List<String> before = dump(pgDump, "db1");
        Mover mover = shards.mover(MoveSettings.DEFAULT, new MoveListener() {});

        Move move = mover.record("db1", "db2", ShardSet.of(1), "a test");
        mover.follow(move.id());
        mover.cutOver(move.id(), ShardSet.of(1));
        assertThat(dump(pgDump, "db2")).isEqualTo(before);
        shards.execute("db2", "UPDATE shard_0001.photo SET title = 'New ' || uid");
        mover.reverse(move.id(), ShardSet.of(1));
        assertThat(dump(pgDump, "db1")).isEqualTo(before);
        mover.cutOver(move.id(), ShardSet.of(1));
        mover.complete(move.id());

        assertThat(dump(pgDump, "db2")).isEqualTo(before);
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0001.photo WHERE title LIKE 'New%'"))
                .isEqualTo(100);
    }

    /** Without the fence's state, and what a dump says of itself. */
    private List<String> dump(Path pgDump, String server) throws IOException, InterruptedException {
        return run(
                        pgDump.toString(),
                        "--schema=shard_0001",
                        "--schema-only",
                        "--dbname=" + shards.database(server).uri())
                .lines()
                .filter(line -> !line.startsWith("\\") && !line.contains("TRIGGER shardflake_fence"))
                .toList();
    }

    private static Path pgDump(int server) throws IOException, InterruptedException {
        for (Path candidate : candidates()) {
            if (Files.isExecutable(candidate) && major(run(candidate.toString(), "--version")) >= server) {
                return candidate;
            }
        }
        assumeTrue(
                false,
                "no pg_dump of version " + server + " or later is installed; ShardDescriptionTest stands for it");
        throw new AssertionError();
    }

    private static List<Path> candidates() throws IOException {
        List<Path> directories = new ArrayList<>(Pattern.compile(Pattern.quote(File.pathSeparator))
                .splitAsStream(System.getenv().getOrDefault("PATH", ""))
                .map(Path::of)
                .toList());
        Path debian = Path.of("/usr/lib/postgresql");
        if (Files.isDirectory(debian)) {
            try (Stream<Path> versions = Files.list(debian)) {
                directories.addAll(
                        versions.map(version -> version.resolve("bin")).toList());
            }
        }
        return directories.stream().map(bin -> bin.resolve("pg_dump")).toList();
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
