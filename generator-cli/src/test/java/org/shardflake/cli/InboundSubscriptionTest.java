/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.AccountShards;
import org.shardflake.sql.FunctionLibrary;

/** What the commands say of a subscription of the user's own that writes to a shard. */
class InboundSubscriptionTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, 8, directory);
        try (Connection db2 = shards.database("db2").connect()) {
            FunctionLibrary.deploy(db2);
        }
        shards.subscribe("db1", 3);
    }

    @AfterEach
    void drop() throws SQLException {
        shards.drop();
    }

    private Cli.Result launch(String... args) {
        return Cli.launch(InputStream.nullInputStream(), shards.environment(), args);
    }

    @Test
    void doctorWarnsOfOneIntoAShardAndReportsOneIntoACopy() throws SQLException {
        Cli.Result warned = launch("doctor");
        assertThat(warned.exitCode()).as(warned.toString()).isZero();
        assertThat(warned.out())
                .containsPattern(
                        "\nwarning +db1 +inbound-subscription +subscription own_feed writes to shard_0003.tag, a shard's");

        shards.executeInCatalog("UPDATE shardflake_catalog.shard SET server = 'db2' WHERE shard = 3");

        Cli.Result doctor = launch("doctor");
        assertThat(doctor.exitCode()).as(doctor.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(doctor.out())
                .containsPattern(
                        "\nproblem +db1 +inbound-subscription +subscription own_feed writes to shard_0003.tag, a copy of");
    }

    @Test
    void aMoveIsRefusedWithItsNameAndWhatToDo() {
        Cli.Result run = launch("move", "run", "--shards=3", "--to=db2");

        assertThat(run.exitCode()).as(run.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(run.err()).contains("subscription own_feed writes to shard_0003.tag", "Drop them");
    }
}
