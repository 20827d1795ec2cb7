/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresExtension;

class MapCommandsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private final CliInstallation installation = new CliInstallation(postgres);

    @TempDir
    private Path directory;

    @BeforeEach
    void begin() throws SQLException {
        installation.init();
    }

    @Test
    void showsTheMap() {
        assertThat(installation.launch("map", "show"))
                .isEqualTo(new Result(0, """
                                version 1, 8 shards, epoch 2025-01-01T00:00:00Z

                                SERVER  COUNT  SHARDS  URL
                                db1     4      0-3     %s
                                db2     4      4-7     %s
                                """.formatted(installation.url(0), installation.url(1)), ""));
    }

    @Test
    void showsAsManyShardsAsThereIsRoomFor() throws SQLException {
        installation.drop();
        installation.launch(
                "init", "--shards=100", "--server=db1=" + installation.url(0), "--server=db2=" + installation.url(1));
        installation.execute(
                0, "UPDATE shardflake_catalog.shard SET server = 'db2' WHERE shard * shard % 11 IN (1, 3)");

        assertThat(installation.launch("map", "show").out()).contains("0,2-4,7-9,11,13-15,18-20,22,24-26,...");
        assertThat(installation.launch("map", "show", "-o", "json").out())
                .contains("\"shards\":\"0,2-4,7-9,11,13-15,18-20,22,24-26,29-31,33,35-37,40-42,44,46-48\"");
    }

    @ParameterizedTest
    @CsvSource({"--shard, 7, 7", "--uid, 15, 7", "--uid, -1, 7", "--id, 8393728, 5", "--key, alice, 7"})
    void locates(String option, String value, int shard) {
        assertThat(installation.launch("map", "locate", option, value, "-o", "json"))
                .isEqualTo(new Result(
                        0,
                        "{\"shard\":%s,\"schema\":\"shard_000%s\",\"server\":\"%s\",\"epoch\":1}\n"
                                .formatted(shard, shard, shard < 4 ? "db1" : "db2"),
                        ""));
    }

    @Test
    void locatesForPeople() throws SQLException {
        installation.execute(0, "UPDATE shardflake_catalog.shard SET server = 'db1' WHERE shard = 7");

        assertThat(installation.launch("map", "locate", "--shard", "7")).isEqualTo(new Result(0, """
                                SHARD  SCHEMA      SERVER  EPOCH
                                7      shard_0007  db1     2
                                """, ""));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--shard=8    | shard 8 is out of range 0..7",
                "--shard=9000 | shard 9000 is out of range 0..7",
                "--id=8192    | id 8192 is of shard 8, which is out of range 0..7, so it was not made here; if it is a shard key, use it as a uid"
            })
    void refusesAShardThatIsNotThere(String option, String message) {
        assertThat(installation.launch("map", "locate", option))
                .isEqualTo(new Result(2, "", "error: " + message + "\n"));
    }

    @Test
    void refusesAnIdThatIsNoNumber() {
        Result result = installation.launch("map", "locate", "--id=alice");

        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).startsWith("error: ").contains("alice");
    }

    @Test
    void exportsTheMap() throws IOException {
        Path file = directory.resolve("map.yaml");
        String yaml = """
                version: 1
                shardCount: 8
                epochMillis: 1735689600000
                servers:
                  db1:
                    url: %s
                    shards: 0-3
                  db2:
                    url: %s
                    shards: 4-7
                """.formatted(installation.url(0), installation.url(1));

        assertThat(installation.launch("map", "export")).isEqualTo(new Result(0, yaml, ""));
        assertThat(installation.launch("map", "export", "--file", file.toString()))
                .isEqualTo(new Result(0, "exported version 1 to %s\n".formatted(file), ""));
        assertThat(file).hasContent(yaml);
    }

    @Test
    void saysThatTheFileCannotBeWritten() {
        Path file = directory.resolve("nowhere/map.yaml");

        assertThat(installation.launch("map", "export", "--file", file.toString()))
                .isEqualTo(new Result(1, "", "error: cannot write %s: no such file or directory\n".formatted(file)));
        assertThat(installation.launch("map", "export", "--file", "/"))
                .isEqualTo(new Result(2, "", "error: / is a directory; --file names a file\n"));
    }

    @Test
    void importsWhatItExported() {
        assertThat(importMap(export())).isEqualTo(new Result(0, "the shard map is as the file has it\n", ""));
        assertThat(export()).startsWith("version: 1\n");
    }

    @Test
    void importsAServer() {
        String yaml = export() + "  db3: {url: %s, labels: {zone: c}}\n".formatted(installation.url(2));

        assertThat(importMap(yaml)).isEqualTo(new Result(0, """
                                CHANGE        SERVER  FROM  COUNT  SHARDS
                                server added  db3
                                """, ""));
        assertThat(installation.launch("server", "list").out()).contains("zone=c");
    }

    @Test
    void importsPlacementsWhenToldThatTheyAreMeant() {
        String yaml = export().replace("0-3", "0-1").replace("4-7", "2-7");

        assertThat(importMap(yaml, "--yes", "--reason=rows were copied"))
                .isEqualTo(new Result(
                        0, """
                                CHANGE         SERVER  FROM  COUNT  SHARDS
                                shards placed  db2     db1   2      2,3
                                """, "import moves no rows: those of 2 shards must be on their new servers already\n"));
        assertThat(installation.launch("map", "show").out()).contains("db2     6      2-7 ");
        assertThat(installation.launch("map", "history", "--limit=2").out())
                .matches("(?s)VERSION  TIME .*\n2  .* shard placed  3 .* rows were copied\n2 .* 2 .* copied\n");
    }

    @Test
    void importsNoPlacementsUnlessTold() {
        String yaml = export().replace("0-3", "0-1").replace("4-7", "2-7");

        assertThat(importMap(yaml)).isEqualTo(new Result(2, "", """
                                error: cannot ask whether to place 2 shards on other servers without moving their rows: there is no terminal
                                hint: add --yes; a shard whose rows are not there already would be empty to its users; --dry-run shows which
                                """));
        assertThat(export()).startsWith("version: 1\n");
    }

    @Test
    void showsInADryRunWhatAnImportWouldChange() throws IOException {
        Path file = directory.resolve("map.yaml");
        Files.writeString(
                file,
                export().replaceFirst("  db1:\n.*\n.*\n", "")
                                .replace("4-7", "0,2-7")
                                .replace(installation.url(1), installation.url(1) + "?sslmode=disable")
                        + "  db3: {url: %s, shards: 1}\n".formatted(installation.url(2)),
                UTF_8);

        assertThat(installation.launch("map", "import", file.toString(), "--dry-run", "-o=json"))
                .isEqualTo(new Result(
                        0,
                        "{\"version\":1,\"serversAdded\":[\"db3\"],\"serversChanged\":[\"db2\"],\"serversRemoved\":[\"db1\"],\"epochsCountedOn\":false,"
                                + "\"shardsPlaced\":[{\"server\":\"db2\",\"fromServer\":\"db1\",\"shardCount\":3,\"shards\":\"0,2,3\"},"
                                + "{\"server\":\"db3\",\"fromServer\":\"db1\",\"shardCount\":1,\"shards\":\"1\"}]}\n",
                        """
                        import moves no rows: those of 4 shards must be on their new servers already
                        dry run: nothing was changed
                        """));
        assertThat(export()).startsWith("version: 1\n").contains("db1:");
    }

    @Test
    void importsNothingBasedOnAnotherVersion() {
        String yaml = export();
        installation.launch("server", "change", "db1", "--label=zone=a");

        assertThat(importMap(yaml)).isEqualTo(new Result(4, "", """
                                error: the file is based on version 1, but the shard map is at version 2
                                hint: export again and repeat the edit
                                """));
    }

    @Test
    void importsNothingOfAnotherInstallation() {
        assertThat(importMap(export().replace("shardCount: 8", "shardCount: 9").replace("4-7", "4-8")))
                .isEqualTo(
                        new Result(
                                4,
                                "",
                                "error: the file has 9 shards and epoch 2025-01-01T00:00:00Z, but the catalog has 8 shards and epoch 2025-01-01T00:00:00Z, which never change\n"));
    }

    @Test
    void importsNoPassword() {
        String yaml = export() + "  db3: {url: 'postgresql://db3/app?user=ann&p%61ssword=s3cret'}\n";

        assertThat(importMap(yaml)).isEqualTo(new Result(2, "", """
                                error: the URL of server db3 holds a password; the shard map is read by many, so leave it out and give it in ~/.pgpass
                                """));
    }

    @Test
    void importsOnlyAWholeMap() {
        assertThat(importMap(export().replace("0-3", "0-2")))
                .isEqualTo(new Result(2, "", "error: shard 3 has no server; every shard has one\n"));
    }

    @Test
    void saysThatTheFileCannotBeRead() {
        Path file = directory.resolve("none.yaml");

        assertThat(installation.launch("map", "import", file.toString()))
                .isEqualTo(new Result(1, "", "error: cannot read %s: no such file or directory\n".formatted(file)));
    }

    @Test
    void passesOnWhatTheCatalogRefuses() throws SQLException {
        installation.execute(0, """
                CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    RAISE EXCEPTION 'not today' USING ERRCODE = 'SF010', DETAIL = 'It is Sunday.', HINT = 'Wait.';
                END $$;
                CREATE TRIGGER never BEFORE UPDATE ON shardflake_catalog.server EXECUTE FUNCTION public.refuse()
                """);
        try {
            assertThat(installation.launch("server", "change", "db1", "--label=zone=a"))
                    .isEqualTo(new Result(4, "", """
                                    error: catalog %s refused the change: not today; It is Sunday.
                                    hint: Wait.
                                    """.formatted(installation.url(0))));
        } finally {
            installation.execute(0, "DROP FUNCTION public.refuse CASCADE");
        }
    }

    @Test
    void showsTheHistory() throws SQLException {
        installation.launch("server", "change", "db1", "--label=zone=a", "--reason=for the record");
        installation.execute(0, "UPDATE shardflake_catalog.shard SET server = 'db1' WHERE shard = 7");
        String user = installation.query(0, "SELECT session_user");

        Result result = installation.launch("map", "history");

        assertThat(result.out()
                        .replaceAll("20..-..-..T[0-9:.]+Z", "NOW")
                        .replace(user, "SOMEONE")
                        .replaceAll(" {2,}", "  "))
                .isEqualTo("""
                        VERSION  TIME  USER  CHANGE  SHARD  SERVER  FROM  EPOCH  REASON
                        3  NOW  SOMEONE  shard placed  7  db1  db2  2  not given
                        2  NOW  SOMEONE  server changed  db1  for the record
                        1  NOW  SOMEONE  initialized  not given
                        """);
        assertThat(installation.launch("map", "history", "--limit=1", "-o=json").out())
                .matches(
                        "\\[\\{\"version\":3,\"time\":\"[^\"]+\",\"user\":\"" + user
                                + "\",\"change\":\"shard placed\",\"shard\":7,\"server\":\"db1\",\"fromServer\":\"db2\",\"epoch\":2,\"reason\":\"not given\"}]\n");
    }

    @Test
    void refusesAHistoryOfNothing() {
        assertThat(installation.launch("map", "history", "--limit=0"))
                .isEqualTo(new Result(2, "", "error: limit is 0, allowed: 1 or more\n"));
    }

    @ParameterizedTest
    @CsvSource({"map show", "map history", "map export", "map locate --shard=7", "server list", "server remove db1"})
    void asksForACatalog(String command) {
        assertThat(Cli.launch(command.split(" "))).isEqualTo(new Result(2, "", """
                                error: no catalog is set: looked at --catalog, the environment variable SHARDFLAKE_CATALOG, catalog in shardflake.yaml, and a local cluster here
                                hint: give --catalog postgresql://user@host:5432/database, or begin with shardflake local start
                                """));
    }

    @ParameterizedTest
    @CsvSource({"map show", "map history", "map export", "map locate --shard=7", "server list", "server remove db1"})
    void saysThatThereIsNoCatalog(String command) {
        assertThat(installation.launch((command + " --catalog " + installation.url(2)).split(" ")))
                .isEqualTo(new Result(4, "", """
                                error: catalog %s has no schema shardflake_catalog
                                hint: create it with shardflake init --catalog URL --server NAME=URL
                                """.formatted(installation.url(2))));
    }

    @Test
    void saysThatTheCatalogCannotBeReached() throws IOException {
        int port;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = socket.getLocalPort();
        }
        String url = "postgresql://ann:s3cret@127.0.0.1:%s/app".formatted(port);
        Result result = Cli.launch("map", "show", "--catalog", url);

        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.err())
                .startsWith("error: cannot connect to catalog postgresql://ann@127.0.0.1:%s/app: ".formatted(port))
                .doesNotContain("s3cret");
    }

    private String export() {
        return installation.launch("map", "export").out();
    }

    private Result importMap(String yaml, String... more) {
        String[] args = new String[more.length + 3];
        System.arraycopy(new String[] {"map", "import", "-"}, 0, args, 0, 3);
        System.arraycopy(more, 0, args, 3, more.length);
        return installation.launchWithInput(yaml, args);
    }
}
