/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;

/** The commands of the guide's page on lookups, in its order. */
class LookupCommandsIT {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final CliInstallation installation = new CliInstallation(postgres);

    private String changelog() throws IOException {
        return Files.writeString(directory.resolve("app.sql"), """
                --liquibase formatted sql
                --changeset ann:account
                CREATE TABLE account (id bigint PRIMARY KEY, uid bigint NOT NULL, email text);
                """).toString();
    }

    @Test
    @Tag("full")
    void thePageOfTheGuide() throws Exception {
        installation.init();
        assertThat(installation.launch("lookup", "list")).isEqualTo(new Result(0, "no lookups\n", ""));
        Result early = installation.launch("lookup", "create", "nickname", "--no-source");
        assertThat(early.exitCode()).as(early.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(early.err()).contains("have not been deployed");
        Result deployed =
                installation.launch("schema", "deploy", "--changelog", changelog(), "--search-path=" + directory);
        assertThat(deployed.exitCode()).as(deployed.toString()).isZero();
        for (int uid = 0; uid < 8; uid++) {
            installation.execute(
                    uid < 4 ? 0 : 1,
                    "INSERT INTO shard_000%1$s.account (uid, email) VALUES (%1$s, 'Ann%1$s@example.org')"
                            .formatted(uid));
        }

        assertThat(installation.launch("lookup", "create", "account.email", "--unique", "--ignore-case"))
                .isEqualTo(new Result(0, """
                        lookup account.email is there; let the application claim values, then run shardflake lookup backfill account.email
                        """, ""));
        assertThat(installation
                        .launch("lookup", "create", "account.email", "--unique", "--ignore-case")
                        .exitCode())
                .as("again")
                .isZero();
        assertThat(installation.launch("lookup", "create", "account.email")).isEqualTo(new Result(4, "", """
                error: lookup account.email exists already, with other properties
                hint: shardflake lookup list shows it, shardflake lookup drop account.email removes it
                """));
        assertThat(installation.launch("lookup", "create", "account.mail")).isEqualTo(new Result(2, "", """
                error: table account has no column mail
                hint: name one of id, uid, email
                """));
        assertThat(installation.launch("lookup", "create", "mail").exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(installation.launch("lookup", "backfill", "account.email"))
                .isEqualTo(new Result(0, "8 rows can be found by account.email\n", ""));
        assertThat(installation.launch("lookup", "list").out()).isEqualTo("""
                NAME           VALUES            SOURCE         STATE  BACKFILLED
                account.email  unique, any case  account.email  ready  8 of 8 shards, 8 rows
                """);
        assertThat(installation.launch("lookup", "verify", "account.email"))
                .isEqualTo(new Result(0, "lookup account.email agrees with its rows: 8 values\n", ""));

        installation.execute(0, "UPDATE shard_0001.account SET email = 'ANN2@example.org'");
        Result differs = installation.launch("lookup", "verify", "account.email");
        assertThat(differs.exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(differs.out()).contains("where the row has ann2@example.org");
        assertThat(differs.err()).startsWith("hint: shardflake lookup backfill account.email claims");
        Result refused = installation.launch("lookup", "backfill", "account.email");
        assertThat(refused.exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(refused.out()).contains("\"ANN2@example.org\" of lookup account.email is held by row");
        assertThat(installation.launch("doctor").out()).doesNotContain("lookup");
        assertThat(installation.launch("lookup", "drop", "account.email").exitCode())
                .isEqualTo(ExitCodes.USAGE);
    }

    @Test
    void controlCharactersOfValuesAreShown() throws Exception {
        installation.init();
        assertThat(installation
                        .launch("schema", "deploy", "--changelog", changelog(), "--search-path=" + directory)
                        .exitCode())
                .isZero();
        assertThat(installation.launch("lookup", "create", "account.email").exitCode())
                .isZero();
        installation.execute(0, "INSERT INTO shard_0001.account (uid, email) VALUES (1, E'a\\x1b[2J\\nb')");

        Result differs = installation.launch("lookup", "verify", "account.email");

        assertThat(differs.exitCode()).as(differs.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(differs.out()).contains("a\\u001b[2J").doesNotContain("\u001b");
    }

    /** It waits 15 s for routers. */
    @Test
    @Tag("full")
    void drops() throws Exception {
        installation.init();
        assertThat(installation
                        .launch("schema", "deploy", "--changelog", changelog(), "--search-path=" + directory)
                        .exitCode())
                .isZero();
        assertThat(installation.launch("lookup", "create", "account.email").exitCode())
                .isZero();
        assertThat(installation
                        .launch("lookup", "drop", "account.email", "--yes")
                        .out())
                .isEqualTo("dropped lookup account.email\n");
        assertThat(installation.launch("lookup", "verify", "account.email")).isEqualTo(new Result(2, "", """
                error: there is no lookup account.email
                hint: shardflake lookup create TABLE.COLUMN creates one
                """));
    }
}
