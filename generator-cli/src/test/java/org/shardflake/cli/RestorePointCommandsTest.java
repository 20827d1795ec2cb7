/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;

/** What the commands print; {@code RestorePointsTest} and {@code RestorePointIT} say what they do. */
class RestorePointCommandsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private final CliInstallation installation = new CliInstallation(postgres);

    @BeforeEach
    void init() throws SQLException {
        installation.init();
    }

    @Test
    void aPointIsMadeAndListed() {
        Result made = installation.launch("restore-point", "noon");

        assertThat(made.exitCode()).as(made.toString()).isZero();
        assertThat(made.out()).matches("""
                SERVER +LSN +WAL FILE +TIME
                db1 +[0-9A-F]+/[0-9A-F]+ +[0-9A-F]{24} +[-0-9]+T[0-9:]+Z
                db2 +[0-9A-F]+/[0-9A-F]+ +[0-9A-F]{24} +[-0-9]+T[0-9:]+Z
                catalog +[0-9A-F]+/[0-9A-F]+ +[0-9A-F]{24} +[-0-9]+T[0-9:]+Z
                """);
        assertThat(made.out().lines()).allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(80));
        assertThat(installation.launch("restore-point", "list").out()).matches("""
                NAME +TIME +MAP +SERVERS +STATE
                noon +[-0-9]+T[0-9:]+Z +1 +2 +complete
                """);
        assertThat(installation.launch("restore-point", "list", "-o", "json").out())
                .startsWith("[{\"name\":\"noon\",\"complete\":true,\"time\":\"")
                .contains("\"servers\":[{\"server\":\"db1\",\"timeline\":1,\"lsn\":\"");
    }

    @Test
    void serversThatWereNotRestoredAreNamed() {
        installation.launch("restore-point", "noon");

        Result check = installation.launch("restore-point", "check", "noon");
        assertThat(check.exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(check.out()).startsWith("""
                SEVERITY  SERVER   CHECK         FOUND
                problem   db1      not-restored  is on timeline 1, and the point on 1
                problem   db2      not-restored  is on timeline 1, and the point on 1
                problem   catalog  not-restored  is on timeline 1, and the point on 1

                not-restored of db1: no restore ends on the timeline it began on: restore this server;""");
    }

    @Test
    void whatIsWrongIsSaid() {
        assertThat(installation.launch("restore-point"))
                .isEqualTo(new Result(
                        ExitCodes.USAGE,
                        "",
                        "error: a name for the restore point is missing, or one of the commands check and list\n"));
        assertThat(installation.launch("restore-point", "check", "noon"))
                .isEqualTo(new Result(ExitCodes.PRECONDITION, "", """
                error: the catalog has no restore point noon
                hint: see shardflake restore-point list; a catalog that was restored to before the point does not have it
                """));
        installation.launch("restore-point", "noon");
        assertThat(installation.launch("restore-point", "noon")).isEqualTo(new Result(ExitCodes.PRECONDITION, "", """
                error: there is a restore point noon already, and recovery stops at the first of a name
                hint: take another name
                """));
    }
}
