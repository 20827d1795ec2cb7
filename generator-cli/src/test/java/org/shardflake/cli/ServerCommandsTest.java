/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.sql.FunctionLibrary;

class ServerCommandsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private final CliInstallation installation = new CliInstallation(postgres);

    @BeforeEach
    void begin() throws SQLException {
        installation.init();
    }

    @Test
    void addsAServer() throws SQLException {
        assertThat(add("db3", installation.url(2), "--label=zone=c", "--label=rack=7"))
                .isEqualTo(new Result(0, "added server db3; the shard map is at version 2\n", ""));

        assertThat(installation.query(2, "SELECT shardflake.epoch_ms()")).isEqualTo("1735689600000");
        assertThat(installation.launch("server", "list"))
                .isEqualTo(new Result(
                        0,
                        """
                                SERVER  SHARDS  URL%1$s  LABELS
                                db1     4       %2$s
                                db2     4       %3$s
                                db3     0       %4$s  rack=7,zone=c
                                """.formatted(
                                        " ".repeat(installation.url(0).length() - 3),
                                        installation.url(0),
                                        installation.url(1),
                                        installation.url(2)),
                        ""));
    }

    @Test
    void saysWhatItDidAsJson() {
        assertThat(add("db3", installation.url(2), "-o", "json").out())
                .isEqualTo("{\"server\":\"db3\",\"change\":\"added\",\"version\":2}\n");
    }

    @Test
    void listsAsJson() {
        assertThat(installation.launch("server", "list", "-o", "json").out())
                .isEqualTo(
                        "[{\"name\":\"db1\",\"url\":\"%s\",\"labels\":{},\"shardCount\":4,\"shards\":\"0-3\"},{\"name\":\"db2\",\"url\":\"%s\",\"labels\":{},\"shardCount\":4,\"shards\":\"4-7\"}]\n"
                                .formatted(installation.url(0), installation.url(1)));
    }

    @Test
    void refusesANameThatIsTaken() throws SQLException {
        assertThat(add("db1", installation.url(2))).isEqualTo(new Result(4, "", """
                                error: server db1 is in the shard map already
                                hint: to change its URLs: shardflake server change db1 --url URL
                                """));
        assertThat(installation.query(2, "SELECT to_regnamespace('shardflake') IS NULL"))
                .isEqualTo("t");
    }

    @Test
    void refusesAnUrlThatIsTaken() {
        assertThat(add("db3", installation.url(1)))
                .isEqualTo(new Result(4, "", "error: server db2 has this URL already\n"));
    }

    @Test
    void keepsThePasswordToItselfWhenNameAndUrlAreSwapped() {
        assertThat(add("postgresql://ann:s3cret@db3/app", "db3"))
                .isEqualTo(new Result(
                        2, "", "error: the server's name is missing, or comes after its URL; it goes first\n"));
    }

    @Test
    void addsNoServerThatCannotBeReached() {
        String nowhere = installation.url(2).replaceFirst("/[^/]*$", "/nowhere");

        assertThat(add("db3", nowhere).exitCode()).isEqualTo(1);
        assertThat(installation.launch("server", "list").out()).doesNotContain("db3");
    }

    @Test
    void changesUrlAndLabels() {
        add("db3", installation.url(2), "--label=zone=c", "--label=rack=7");
        String url = installation.url(2) + "?sslmode=disable";

        assertThat(change("db3", url, "--label=zone=d", "--label=rack="))
                .isEqualTo(new Result(0, "changed server db3; the shard map is at version 3\n", ""));
        assertThat(installation.launch("server", "list").out()).contains(url + "  zone=d\n");
    }

    @Test
    void keepsAUrlForApplicationsUntilItIsTakenAway() {
        String pooler = installation.url(2) + "?prepareThreshold=0";
        add("db3", installation.url(2), "--application-url", pooler);

        assertThat(installation.launch("server", "list").out())
                .containsPattern("SERVER +SHARDS +URL +APPLICATION URL +LABELS\n")
                .containsPattern("db3 +0 +\\Q%s\\E +\\Q%s\\E\n".formatted(installation.url(2), pooler));
        assertThat(installation.launch("map", "show").out()).contains(pooler + "\n");
        assertThat(installation.launch("map", "show", "-o", "json").out())
                .contains("\"applicationUrl\":\"%s\"".formatted(pooler));
        assertThat(change("db3", "--label=zone=c").exitCode()).isZero();
        assertThat(installation.launch("map", "export").out()).contains("applicationUrl: " + pooler);

        assertThat(change("db3", "--application-url="))
                .isEqualTo(new Result(0, "changed server db3; the shard map is at version 4\n", ""));
        assertThat(installation.launch("server", "list").out())
                .doesNotContain("APPLICATION URL")
                .doesNotContain(pooler);
    }

    @Test
    void refusesAUrlForApplicationsWithAPasswordOrOfAnotherServer() {
        Result secret = change("db1", "--application-url=postgresql://ann:s3cret@pooler/app");
        assertThat(secret.exitCode()).isEqualTo(2);
        assertThat(secret.err())
                .startsWith("error: the application URL of server db1 holds a password,")
                .doesNotContain("s3cret");

        assertThat(change("db1", "--application-url", installation.url(1)))
                .isEqualTo(new Result(4, "", "error: server db2 has this URL already\n"));
    }

    @Test
    void changesToNoUrlWithoutTheLibrary() {
        Result result = change("db1", "--url", installation.url(2));

        assertThat(result.exitCode()).isEqualTo(4);
        assertThat(result.err()).startsWith("error: the shardflake function library is not deployed in database ");
    }

    @Test
    void changesToNoUrlOfAnotherServer() {
        assertThat(change("db1", "--url", installation.url(1)))
                .isEqualTo(new Result(4, "", "error: server db2 has this URL already\n"));
    }

    @Test
    void refusesAChangeOfNothing() {
        assertThat(change("db1"))
                .isEqualTo(new Result(2, "", "error: nothing to change: give a URL, --application-url or --label\n"));
    }

    @Test
    void namesTheServersWhenThereIsNoneOfThisName() {
        String message =
                "error: there is no server \"db9\" in the shard map; its servers are db1, db2\nhint: did you mean db1?\n";

        assertThat(change("db9", "--label=zone=c")).isEqualTo(new Result(2, "", message));
        assertThat(installation.launch("server", "remove", "db9")).isEqualTo(new Result(2, "", message));
    }

    @Test
    void removesAServerWithoutShards() {
        add("db3", installation.url(2));

        assertThat(installation.launch("server", "remove", "db3")).isEqualTo(new Result(2, "", """
                error: cannot ask whether to remove server db3 from the shard map: there is no terminal
                hint: add --yes; shardflake server list shows the servers
                """));
        assertThat(installation.launch("server", "remove", "db3", "--yes", "--reason", "too dear"))
                .isEqualTo(new Result(0, "removed server db3; the shard map is at version 3\n", ""));
        assertThat(installation.launch("map", "history", "--limit=1").out())
                .contains("server removed")
                .endsWith("too dear\n");
    }

    @Test
    void keepsAServerWithShards() {
        assertThat(installation.launch("server", "remove", "db2")).isEqualTo(new Result(4, "", """
                                error: server db2 has 4 shards
                                hint: shardflake server drain db2 moves them to the others
                                """));
    }

    private Result add(String name, String url, String... more) {
        return launch(new String[] {"server", "add", name, url}, more);
    }

    private Result change(String name, String... more) {
        return launch(new String[] {"server", "change", name}, more);
    }

    private Result launch(String[] first, String... more) {
        String[] args = new String[first.length + more.length];
        System.arraycopy(first, 0, args, 0, first.length);
        System.arraycopy(more, 0, args, first.length, more.length);
        return installation.launch(args);
    }

    @Test
    void dryRunsChangeNothing() {
        String before = installation.launch("map", "export").out();

        assertThat(installation
                        .launch("server", "add", "db3", "--url", installation.url(2), "--dry-run")
                        .out())
                .isEqualTo("would add server db3\n");
        assertThat(installation
                        .launch("server", "change", "db1", "--label=zone=a", "--dry-run")
                        .out())
                .isEqualTo("would change server db1\n");
        assertThat(installation.launch("server", "remove", "db1", "--dry-run").err())
                .startsWith("error: server db1 has 4 shards\n");
        assertThat(installation.launch("map", "export").out()).isEqualTo(before);
    }

    @Test
    void addsNoServerWithANewerLibraryAndLeavesItAsItWas() throws SQLException {
        try (Connection db3 = postgres.database(2).connect()) {
            FunctionLibrary.deploy(db3);
        }
        installation.execute(
                2,
                "CREATE OR REPLACE FUNCTION shardflake.library_version() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1000000");
        String before = installation.everything(2);

        Result result = add("db3", installation.url(2));

        assertThat(result.exitCode()).isEqualTo(4);
        assertThat(result.err())
                .contains(": the function library is deployed in version 1000000, and this program has only version ");
        assertThat(installation.everything(2)).isEqualTo(before);
        assertThat(add("db3", installation.url(2), "--dry-run").exitCode()).isEqualTo(4);
    }
}
