/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;

class SqlCommandIT {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @TempDir
    static Path directory;

    private final CliInstallation installation = new CliInstallation(postgres);

    /** In each of the 8 shards, 0 to 3 on db1, as many photos as its number, with one of 12 likes. */
    @BeforeEach
    void photos() throws SQLException, IOException {
        if (!postgres.restore("photos")) {
            succeed("init", "--shards=8", "--server=db1=" + installation.url(0), "--server=db2=" + installation.url(1));
            Path changelog = Files.writeString(directory.resolve("photos.sql"), """
                    --liquibase formatted sql
                    --changeset ann:photo
                    CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text, likes integer NOT NULL, good boolean);
                    """);
            succeed("schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory);
            for (int shard = 0; shard < 8; shard++) {
                installation.execute(
                        shard / 4,
                        "INSERT INTO shard_000%1$s.photo (uid, title, likes, good) SELECT %1$s, CASE n WHEN 2 THEN 'a \"b\", c' END, n, n > 1 FROM generate_series(1, %1$s) n"
                                .formatted(shard));
            }
            postgres.save("photos");
        }
    }

    private Result succeed(String... args) {
        Result result = installation.launch(args);
        assertThat(result.exitCode()).as(result.toString()).isZero();
        return result;
    }

    private void refuses(int exitCode, String err, String... args) {
        assertThat(installation.launch(args)).isEqualTo(new Result(exitCode, "", err));
    }

    /** The likes of shards' photos, added up with each server's own means. */
    private long likes() throws SQLException {
        long likes = 0;
        for (int shard = 0; shard < 8; shard++) {
            likes += Long.parseLong(installation.query(
                    shard / 4, "SELECT coalesce(sum(likes), 0) FROM shard_000%s.photo".formatted(shard)));
        }
        return likes;
    }

    @Test
    void printsTheRowsOfAllShards() {
        String query = "SELECT uid, title, good FROM photo WHERE likes = 2 AND '?' <> 'a' -- the second";
        assertThat(succeed("sql", query, "--with-shard", "--shards=2-3").out()).isEqualTo("""
                SHARD  UID  TITLE     GOOD
                2      2    a "b", c  true
                3      3    a "b", c  true
                """);
        assertThat(succeed("sql", query + ";", "--uid=3", "-o=csv").out()).isEqualTo("""
                uid,title,good
                3,"a ""b"", c",true
                """);
        assertThat(succeed("sql", "SELECT uid, title FROM photo WHERE likes > 100 -- none", "-o=csv")
                        .out())
                .isEqualTo("uid,title\n");
        assertThat(succeed("sql", "SELECT uid FROM ${shard.schema}.photo WHERE false;", "-o=csv", "--with-shard")
                        .out())
                .isEqualTo("shard,uid\n");
        assertThat(succeed("sql", "SELECT * FROM ${shard.schema}.photo WHERE likes > 100", "-o=json")
                        .out())
                .isEqualTo("[]\n");
        assertThat(succeed("sql", "SELECT uid, likes, title FROM photo WHERE likes = 1", "-o=json", "--server=db1")
                        .out())
                .isEqualTo("""
                        [{"uid":"1","likes":1,"title":null},
                        {"uid":"2","likes":1,"title":null},
                        {"uid":"3","likes":1,"title":null}]
                        """);
        assertThat(succeed("sql", "SELECT uid FROM photo ORDER BY likes DESC LIMIT 1", "--with-shard")
                        .out()
                        .lines())
                .hasSize(8);
        assertThat(succeed("sql", "SELECT uid FROM photo", "--limit=5").out().lines())
                .hasSize(6);
    }

    @Test
    void drawsIdsOnTheServerThatTheCatalogHasForTheShard() {
        String id = succeed("id", "next", "--uid=15", "--table=photo").out().strip();

        assertThat(succeed("id", "decode", id, "-o=json").out()).contains("\"shard\":7,");
    }

    /** The name after FROM is not that of a table to the reader of table names, so the search_path must tell. */
    @Test
    void findsTablesByTheSearchPathWhereTheTextDoesNotTell() {
        assertThat(succeed("sql", "TABLE photo", "--count").out()).isEqualTo("COUNT\n28\n");
    }

    @Test
    void countsAndAddsUp() {
        assertThat(succeed("sql", "SELECT * FROM photo", "--count").out()).isEqualTo("COUNT\n28\n");
        assertThat(succeed("sql", "SELECT likes FROM photo", "--sum=likes * 2").out())
                .isEqualTo("SUM\n168\n");
        assertThat(succeed("sql", "SELECT * FROM photo", "--count", "--with-shard", "--shards=1,7", "-o=csv")
                        .out()
                        .lines())
                .containsExactlyInAnyOrder("shard,count", "1,1", "7,7");
        assertThat(succeed("sql", "SELECT likes FROM photo WHERE likes > 100", "--sum=likes")
                        .out())
                .isEqualTo("SUM\nnull\n");
    }

    @Test
    void whatHoldsForEachShardIsNotTakenForAResultOfAll() {
        refuses(ExitCodes.USAGE, """
                error: LIMIT would apply to each of 8 shards, not to all together
                hint: --limit N stops after N rows of all shards; --with-shard prints the rows of each shard
                """, "sql", "SELECT uid FROM photo LIMIT 3");
        String hint =
                "hint: leave it out of the query and let --count count rows, or --sum VALUE add up, over all shards; --with-shard prints the result of each shard\n";
        refuses(
                ExitCodes.USAGE,
                "error: count would apply to each of 8 shards, not to all together\n" + hint,
                "sql",
                "SELECT /* all */ count(*) FROM photo");
        refuses(
                ExitCodes.USAGE,
                "error: max would apply to each of 2 shards, not to all together\n" + hint,
                "sql",
                "SELECT max(likes) FROM photo",
                "--shards=1,7",
                "--count");
        assertThat(succeed("sql", "SELECT count(*) FROM photo", "--uid=7").out())
                .startsWith("COUNT\n");
        assertThat(succeed("sql", "SELECT count(*) AS n FROM photo", "--sum=n").out())
                .isEqualTo("SUM\n28\n");
        assertThat(succeed("sql", "SELECT uid, count(*) FROM photo GROUP BY uid")
                        .err())
                .isEmpty();
        refuses(
                ExitCodes.USAGE,
                "error: count would apply to each of 8 shards, not to all together\n" + hint,
                "sql",
                "WITH counted AS (SELECT count(*) AS n FROM photo) SELECT n FROM counted");
        assertThat(succeed("sql", "SELECT current_schema()").err())
                .isEqualTo(
                        "8 rows from 8 shards: results are not combined; --with-shard begins each row with its shard\n");
    }

    @Test
    void badInput() {
        refuses(ExitCodes.USAGE, "error: SQL is missing: give it as an argument or with --file\n", "sql");
        refuses(ExitCodes.USAGE, """
                error: the statement is not a query: it begins with DELETE
                hint: shardflake sql --write --all-shards SQL runs statements that write
                """, "sql", "DELETE FROM photo");
        refuses(ExitCodes.USAGE, """
                error: there are 2 statements, and a query is one
                hint: run them one by one
                """, "sql", "SELECT 1; SELECT 2");
        refuses(ExitCodes.USAGE, """
                error: --write needs to know in which shards
                hint: --all-shards, or some with --shards, --server, --uid, --id or --key
                """, "sql", "--write", "DELETE FROM photo");
        refuses(ExitCodes.USAGE, """
                error: the statement changes the schema: it begins with DROP
                hint: shardflake schema deploy --changelog FILE changes the schema of all shards alike
                """, "sql", "--write", "--all-shards", "/* all */ DROP TABLE photo");
        refuses(ExitCodes.USAGE, """
                error: statement 2 cannot be run in the transaction of a shard: it begins with COMMIT
                hint: each shard has a transaction of its own, which begins and ends around all statements
                """, "sql", "--write", "--all-shards", "DELETE FROM photo; COMMIT");
        refuses(
                ExitCodes.USAGE,
                "error: --dry-run, --keep-going, --run, --parallelism and --pause are for --write\n",
                "sql",
                "SELECT 1",
                "--parallelism=4");
        refuses(
                ExitCodes.USAGE,
                "error: --count, --sum, --limit, --deadline, --partial and --with-shard are for queries, not for --write\n",
                "sql",
                "--write",
                "--all-shards",
                "--deadline=1m",
                "DELETE FROM photo");
        Result unknown = installation.launch("sql", "SELECT * FROM nothing");
        assertThat(unknown.exitCode()).isEqualTo(ExitCodes.FAILURE);
        assertThat(unknown.err()).contains("relation \"nothing\" does not exist");
        assertThat(installation.launch("sql", "SELECT 1", "--shards=8").exitCode())
                .isEqualTo(ExitCodes.USAGE);
        Result writes = installation.launch("sql", "SELECT nextval('shard_0001.id_seq') FROM photo", "--uid=1");
        assertThat(writes.exitCode()).isEqualTo(ExitCodes.FAILURE);
        assertThat(writes.err()).contains("read-only transaction");
    }

    @Test
    @Tag("full")
    void aServerThatIsDown() {
        postgres.database(1).server().stop();
        try {
            Result strict = installation.launch("sql", "SELECT uid FROM photo");
            assertThat(strict.exitCode()).as(strict.toString()).isEqualTo(ExitCodes.FAILURE);
            assertThat(strict.err()).startsWith("error: ").contains("db2");

            Result partial = installation.launch("sql", "SELECT uid FROM photo", "--partial", "-o=csv");
            assertThat(partial.exitCode()).isEqualTo(ExitCodes.PARTLY_DONE);
            assertThat(partial.out().lines()).hasSize(1 + 6);
            assertThat(partial.err()).startsWith("warning: rows of 4 shards are missing, shards 4-7 of db2: ");
        } finally {
            postgres.database(1).server().start();
        }
    }

    @Test
    void writesInEachShardOnce() throws SQLException {
        String[] command = {"sql", "--write", "--all-shards", "--yes", "UPDATE photo SET likes = likes + 1"};

        assertThat(succeed(Stream.concat(Stream.of(command), Stream.of("--dry-run"))
                                .toArray(String[]::new))
                        .out())
                .isEqualTo(
                        "would write in 8 shards; in shard 0 that changes 0 rows; before that it would make table shardflake_run, which notes what was run, in all 8 shards that lack it\n");
        assertThat(likes()).isEqualTo(84);
        installation.execute(
                1, "DELETE FROM shardflake_deploy.databasechangelog WHERE filename LIKE 'shard_0006/photos.sql'");
        assertThat(succeed(Stream.concat(Stream.of(command), Stream.of("--dry-run"))
                                .toArray(String[]::new))
                        .out())
                .as("one shard of each history")
                .isEqualTo("""
                        would write in 8 shards; in shard 0 (last changeset: photos.sql::photo::ann) that changes 0 rows; in shard 6 (last changeset: nothing deployed) that changes 6 rows; before that it would make table shardflake_run, which notes what was run, in all 8 shards that lack it
                        """);
        assertThat(installation
                        .launch("sql", "--write", "--shards=3", "UPDATE photo SET likes = 0")
                        .err())
                .startsWith(
                        "error: cannot ask whether to write in 1 shard (3), and before that make table shardflake_run, which notes what was run, in all 8 shards that lack it: ");
        assertThat(likes()).isEqualTo(84);
        assertThat(succeed(command).out()).isEqualTo("wrote in 8 shards: 28 rows\n");
        assertThat(likes()).isEqualTo(84 + 28);
        Result again = succeed(command);
        assertThat(again.out()).isEqualTo("wrote in 0 shards: 0 rows\n");
        assertThat(again.err()).contains("to run the statements again, give another name with --run");
        assertThat(likes()).isEqualTo(84 + 28);
        assertThat(succeed(
                                "sql",
                                "--write",
                                "--uid=7",
                                "--yes",
                                "--run=more",
                                "UPDATE ${shard.schema}.photo SET likes = 0; DELETE FROM photo",
                                "-o=json")
                        .out())
                .isEqualTo(
                        "{\"run\":\"more\",\"done\":\"7\",\"before\":\"\",\"rows\":14,\"failures\":[],\"left\":\"\"}\n");
        refuses(
                ExitCodes.PRECONDITION,
                """
                error: run more was done in shard 7 with other statements
                hint: give the run of these another name
                """,
                "sql",
                "--write",
                "--all-shards",
                "--yes",
                "--run=more",
                "DELETE FROM photo");
        assertThat(succeed("doctor").out()).isEqualTo("2 servers with 8 shards: nothing found\n");

        // What was run is a row of the shard, and the shard can be moved as before.
        succeed("move", "run", "--shards=3", "--to=db2");
        assertThat(installation.query(1, "SELECT count(*) FROM shard_0003.shardflake_run"))
                .isNotEqualTo("0");
        long before = likesOf(3, 1);
        succeed(command);
        assertThat(likesOf(3, 1)).isEqualTo(before);
    }

    private long likesOf(int shard, int server) throws SQLException {
        return Long.parseLong(installation.query(server, "SELECT sum(likes) FROM shard_000%s.photo".formatted(shard)));
    }

    @Test
    void refreshesMaterializedViews() throws SQLException {
        installation.execute(
                1,
                "CREATE MATERIALIZED VIEW shard_0007.liked AS SELECT sum(likes) AS likes FROM shard_0007.photo WITH NO DATA");

        assertThat(succeed("sql", "--write", "--uid=7", "--yes", "REFRESH MATERIALIZED VIEW liked")
                        .out())
                .isEqualTo("wrote in 1 shard: 0 rows\n");

        assertThat(succeed("sql", "SELECT likes FROM liked", "--uid=7").out()).isEqualTo("LIKES\n28\n");
    }

    /** They would run in the reader's terminal. */
    @Test
    void controlCharactersOfRowsAreShown() throws SQLException {
        installation.execute(1, "UPDATE shard_0007.photo SET title = E'a\\x1b[2J\\u009b\\r\\u202eb' WHERE likes = 1");

        assertThat(succeed("sql", "SELECT title FROM photo WHERE likes = 1", "--uid=7")
                        .out())
                .isEqualTo("TITLE\na\\u001b[2J\\u009b\\r\\u202eb\n");
        assertThat(succeed("sql", "SELECT title FROM photo WHERE likes = 1", "--uid=7", "-o=json")
                        .out())
                .containsIgnoringCase("a\\u001b[2J")
                .doesNotContain("\u001b", "\u009b", "\u202e");
    }

    @Test
    void rowsThatAPolicyHidesAreAnErrorAndNotLeftOut() throws Exception {
        for (int server = 0; server < 2; server++) {
            installation.execute(
                    server,
                    "DO $$BEGIN CREATE ROLE sql_reader LOGIN; EXCEPTION WHEN duplicate_object THEN END$$; ALTER ROLE sql_reader PASSWORD '%s'; GRANT pg_read_all_data TO sql_reader"
                            .formatted(installation.password()));
            Result changed = launchAs(
                    postgres.database(0).user(),
                    "server",
                    "change",
                    "db" + (server + 1),
                    "--url=" + withoutUser(server));
            assertThat(changed.exitCode()).as(changed.toString()).isZero();
        }
        assertThat(launchAs("sql_reader", "sql", "SELECT * FROM photo", "--count"))
                .isEqualTo(new Result(0, "COUNT\n28\n", ""));
        installation.execute(1, "ALTER TABLE shard_0005.photo ENABLE ROW LEVEL SECURITY");

        Result refused = launchAs("sql_reader", "sql", "SELECT * FROM photo", "--count");

        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.FAILURE);
        assertThat(refused.out()).isEmpty();
        assertThat(refused.err()).contains("db2", "row-level security policy for table \"photo\"");
    }

    /** Runs a command as a role that the URLs do not name. */
    private Result launchAs(String role, String... args) {
        Map<String, String> environment =
                Map.of("SHARDFLAKE_CATALOG", withoutUser(0), "PGUSER", role, "PGPASSWORD", installation.password());
        return Cli.launch(InputStream.nullInputStream(), environment, args);
    }

    private String withoutUser(int server) {
        return installation.url(server).replaceFirst("//[^@/]*@", "//");
    }

    @Test
    void aRunThatFailsInAShardIsGoneOnWith() throws SQLException {
        installation.execute(1, "ALTER TABLE shard_0005.photo ADD CHECK (likes < 6)");
        String[] command = {
            "sql", "--write", "--all-shards", "--yes", "--keep-going", "UPDATE photo SET likes = likes + 1"
        };

        Result partly = installation.launch(command);
        assertThat(partly.exitCode()).isEqualTo(ExitCodes.PARTLY_DONE);
        assertThat(partly.out()).isEqualTo("wrote in 7 shards: 23 rows\n");
        assertThat(partly.err())
                .contains(
                        "error: failed in 1 shard (5) of db2: new row for relation \"photo\" violates check constraint")
                .contains("hint: 1 shard to go");
        installation.execute(1, "ALTER TABLE shard_0005.photo DROP CONSTRAINT photo_likes_check");
        assertThat(succeed(command).out()).isEqualTo("wrote in 1 shard: 5 rows\n");
        assertThat(likes()).isEqualTo(84 + 28);
    }

    /** Connections break all the time, also during commits, and two commands do the same. */
    @Test
    void nothingIsRunTwiceThoughConnectionsBreak() throws Exception {
        String[] command = {
            "sql",
            "--write",
            "--all-shards",
            "--yes",
            "--keep-going",
            "UPDATE photo SET likes = likes + 1; SELECT pg_sleep(0.02)"
        };
        List<Result> results = List.of();
        for (int tries = 0; tries < 20; tries++) {
            List<CompletableFuture<Result>> both = Stream.of(1, 2)
                    .map(one -> CompletableFuture.supplyAsync(() -> installation.launch(command)))
                    .toList();
            while (tries < 5 && !both.stream().allMatch(CompletableFuture::isDone)) {
                for (int server = 0; server < 2; server++) {
                    installation.query(
                            server,
                            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query ~ 'shardflake_run|photo|COMMIT' AND random() < 0.2");
                }
                Thread.sleep(5);
            }
            results = both.stream().map(CompletableFuture::join).toList();
            if (results.stream().allMatch(result -> result.exitCode() == 0)) {
                break;
            }
        }
        assertThat(likes()).as("%s", results).isEqualTo(84 + 28);
        assertThat(succeed("sql", "SELECT FROM shardflake_run", "--count").out())
                .isEqualTo("COUNT\n8\n");
    }
}
