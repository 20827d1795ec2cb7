/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresExtension;

class InitTest {

    private static final String DEPLOYED =
            "SELECT to_regnamespace('shardflake') IS NOT NULL OR to_regnamespace('shardflake_catalog') IS NOT NULL";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private final CliInstallation installation = new CliInstallation(postgres);

    @BeforeEach
    void begin() throws SQLException {
        installation.drop();
    }

    @Test
    void makesServersAndCatalogReady() throws SQLException {
        assertThat(init()).isEqualTo(new Result(0, """
                                version 1, 2000 shards, epoch 2025-01-01T00:00:00Z

                                SERVER  COUNT  SHARDS     URL
                                db1     1000   0-999      %s
                                db2     1000   1000-1999  %s
                                """.formatted(installation.url(0), installation.url(1)), ""));
        assertThat(installation.query(0, "SELECT shardflake.epoch_ms()")).isEqualTo("1735689600000");
        assertThat(installation.query(1, "SELECT shardflake.epoch_ms()")).isEqualTo("1735689600000");
        assertThat(installation.query(0, "SELECT count(*) FROM shardflake_catalog.shard"))
                .isEqualTo("2000");
    }

    @Test
    void takesShardCountEpochLayoutAndReason() throws SQLException {
        assertThat(init("--shards=5", "--epoch=1293840000000", "--layout=round-robin", "--reason=why not", "-o=json"))
                .isEqualTo(new Result(
                        0,
                        "{\"version\":1,\"shardCount\":5,\"epoch\":\"2011-01-01T00:00:00Z\",\"epochMillis\":1293840000000,"
                                + "\"servers\":[{\"name\":\"db1\",\"url\":\"%s\",\"labels\":{},\"shardCount\":3,\"shards\":\"0-4/2\"},"
                                        .formatted(installation.url(0))
                                + "{\"name\":\"db2\",\"url\":\"%s\",\"labels\":{},\"shardCount\":2,\"shards\":\"1,3\"}]}\n"
                                        .formatted(installation.url(1)),
                        ""));
        assertThat(installation.query(1, "SELECT shardflake.epoch_ms()")).isEqualTo("1293840000000");
        assertThat(installation.query(0, "SELECT reason FROM shardflake_catalog.history"))
                .isEqualTo("why not");
    }

    @Test
    void idsAreDecodedWithTheEpochOfTheCatalog() throws SQLException {
        assertThat(init("--shards=2000", "--epoch=1293840000000").exitCode()).isZero();
        String catalog = "--catalog=" + installation.url(0);

        assertThat(installation
                        .launch("id", "decode", "11637205501278089", catalog)
                        .out())
                .contains("  2011-01-17T01:21:03Z  ");
        assertThat(installation
                        .launch(
                                "id",
                                "encode",
                                "--time=2011-01-17T01:21:03Z",
                                "--shard=1341",
                                "--sequence=905",
                                catalog)
                        .out())
                .isEqualTo("11637205501278089\n");
        assertThat(installation
                        .launch("id", "range", "--from=2011-01-17T01:21:03Z", "--to=2011-01-17T01:21:03Z", catalog)
                        .out())
                .contains("BETWEEN 11637205499904000 AND 11637205508292607");
    }

    @Test
    void putsTheCatalogWhereItIsTold() throws SQLException {
        assertThat(init("--catalog", installation.url(2)).exitCode()).isZero();

        assertThat(installation.query(2, "SELECT count(*) FROM shardflake_catalog.shard"))
                .isEqualTo("2000");
        assertThat(installation.query(2, "SELECT to_regnamespace('shardflake') IS NULL"))
                .isEqualTo("t");
        assertThat(installation.query(0, "SELECT to_regnamespace('shardflake_catalog') IS NULL"))
                .isEqualTo("t");
    }

    @Test
    @Tag("full")
    void putsTheCatalogOnTheFirstServerUnlessTold() throws SQLException {
        Result result = Cli.launch(
                InputStream.nullInputStream(),
                Map.of("PGPASSWORD", installation.password()),
                "init",
                "--server=b=" + installation.url(1),
                "--server=a=" + installation.url(0));

        assertThat(result.err()).isEqualTo("the catalog is in the database of the first server, b\n");
        assertThat(result.exitCode()).isZero();
        assertThat(installation.query(1, "SELECT server FROM shardflake_catalog.shard WHERE shard = 0"))
                .isEqualTo("b");
    }

    @Test
    void changesNothingInADryRun() throws SQLException {
        Result result = init("--dry-run");

        assertThat(result.err()).isEqualTo("dry run: nothing was changed\n");
        assertThat(result.out()).startsWith("version 1, 2000 shards, ");
        assertThat(result.exitCode()).isZero();
        assertThat(installation.query(0, DEPLOYED)).isEqualTo("f");
        assertThat(installation.query(1, DEPLOYED)).isEqualTo("f");
    }

    @Test
    void refusesASecondMap() throws SQLException {
        init();

        assertThat(installation.launch("init", "--server=db3=" + installation.url(2)))
                .isEqualTo(new Result(4, "", """
                                error: catalog %s has a shard map already, at version 1
                                hint: show it with shardflake map show, add a server with shardflake server add NAME --url URL
                                """.formatted(installation.url(0))));
        assertThat(installation.query(2, DEPLOYED)).isEqualTo("f");
    }

    @Test
    @Tag("full")
    void goesOnWhereItStopped() throws SQLException {
        init();
        installation.execute(0, "DROP SCHEMA shardflake_catalog CASCADE; DELETE FROM shardflake.installation");
        installation.execute(1, "DROP SCHEMA shardflake CASCADE");

        assertThat(init().exitCode()).isZero();
        assertThat(installation.query(1, "SELECT shardflake.epoch_ms()")).isEqualTo("1735689600000");
        assertThat(installation.launch("map", "show").exitCode()).isZero();
    }

    @Test
    void changesNothingWhenAServerCannotBeReached() throws SQLException {
        String nowhere = installation.url(1).replaceFirst("/[^/]*$", "/nowhere");

        assertThat(installation.launch("init", "--server=db1=" + installation.url(0), "--server=db2=" + nowhere))
                .isEqualTo(new Result(1, "", """
                        error: server %s refused the connection: database "nowhere" does not exist
                        hint: check the database at the end of the URL; psql -l lists those of the server
                        """.formatted(nowhere)));
        assertThat(installation.query(0, DEPLOYED)).isEqualTo("f");
    }

    @Test
    void changesNothingWhenAServerHasAnotherEpoch() throws SQLException {
        assertThat(installation
                        .launch(
                                "init",
                                "--epoch=0",
                                "--server=a=" + installation.url(1),
                                "--catalog",
                                installation.url(1))
                        .exitCode())
                .isZero();

        Result result = init();

        assertThat(result.exitCode()).isEqualTo(4);
        assertThat(result.err()).contains("makes ids with epoch 0 (1970-01-01T00:00:00Z)");
        assertThat(installation.query(0, DEPLOYED)).isEqualTo("f");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "db1=postgresql://ann:s3cret@db1/app",
                "db1=postgresql://db1/app?user=ann&password=s3cret",
                "db1=postgresql://db1/app?user=ann&p%61ssword=s3cret",
                "db1=postgresql://db1/app?user=ann&sslp%61ssword=s3cret"
            })
    void refusesAPasswordAndKeepsItToItself(String server) {
        assertThat(installation.launch("init", "--server", server)).isEqualTo(new Result(2, "", """
                                error: the URL of server db1 holds a password, which everyone who reads the shard map would see
                                hint: leave it out of the URL and give it in ~/.pgpass or PGPASSWORD
                                """));
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql://ann:s3cret@db1/app", "postgresql://ann:s3cret@db1/app?sslmode=require"})
    void keepsThePasswordToItselfWhenTheNameIsMissing(String server) {
        Result result = installation.launch("init", "--server", server);

        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).startsWith("error: ").doesNotContain("s3cret");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--server=db1=postgresql://a/app --server=db1=postgresql://b/app | server db1 appears twice",
                "--server=db1=postgresql://a/app --server=db2=postgresql://a/app | servers db1 and db2 have the same URL postgresql://a/app",
                "--server=db1=postgresql://a/app --shards=8193                   | shard count 8193 is out of range 1..8192",
                "--server=DB=postgresql://a/app | server name \"DB\" is not 1 to 63 of a-z 0-9 _ . - with a letter or digit at both ends"
            })
    void refusesWhatCanBeNoMap(String args, String message) {
        assertThat(installation.launch(("init " + args).split(" ")))
                .isEqualTo(new Result(2, "", "error: " + message + "\n"));
    }

    @Test
    void refusesALayoutItLacks() {
        assertThat(init("--layout=random")).isEqualTo(new Result(2, "", """
                                error: --layout: 'random' is not one of contiguous, round-robin
                                hint: see shardflake init --help
                                """));
    }

    private Result init(String... more) {
        String[] args = new String[more.length + 3];
        args[0] = "init";
        args[1] = "--server=db1=" + installation.url(0);
        args[2] = "--server=db2=" + installation.url(1);
        System.arraycopy(more, 0, args, 3, more.length);
        return installation.launch(args);
    }

    private static final String NEWER =
            "CREATE OR REPLACE FUNCTION %s RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1000000";

    @Test
    @Tag("full")
    void refusesAServerWithANewerLibraryBeforeItChangesAnother() throws SQLException {
        init();
        installation.execute(0, "DROP SCHEMA shardflake_catalog, shardflake CASCADE");
        installation.execute(1, NEWER.formatted("shardflake.library_version()"));
        List<String> before = List.of(installation.everything(0), installation.everything(1));

        assertRefusedAsNewer(init(), "the function library");
        assertRefusedAsNewer(init("--dry-run"), "the function library");
        assertThat(List.of(installation.everything(0), installation.everything(1)))
                .isEqualTo(before);
    }

    @Test
    @Tag("full")
    void refusesANewerCatalogBeforeItChangesAServer() throws SQLException {
        init();
        installation.execute(0, """
                DROP SCHEMA shardflake CASCADE;
                SET session_replication_role = replica;
                TRUNCATE shardflake_catalog.installation CASCADE
                """);
        installation.execute(0, NEWER.formatted("shardflake_catalog.catalog_version()"));
        List<String> before = List.of(installation.everything(0), installation.everything(1));

        assertRefusedAsNewer(init(), "the catalog");
        assertThat(List.of(installation.everything(0), installation.everything(1)))
                .isEqualTo(before);
    }

    private static void assertRefusedAsNewer(Result result, String what) {
        assertThat(result.exitCode()).as(result.toString()).isEqualTo(4);
        assertThat(result.err())
                .contains(": %s is deployed in version 1000000, and this program has only version ".formatted(what))
                .contains("hint: use the newer shardflake that deployed it");
    }
}
