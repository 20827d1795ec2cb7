/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.sql.FunctionLibrary;

class IdGenerateTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @ParameterizedTest
    @ValueSource(
            strings = {
                "uuidv4",
                "uuidv7",
                "objectid",
                "simpleflake",
                "snowflake-java --worker=5",
                "flake --worker=5",
                "snowflake --worker=5",
                "uniqueid --worker=5 --time-sequential",
                "traceid --worker=5"
            })
    void makesIdsThatDecode(String scheme) {
        Result made = generate(("--scheme " + scheme + " --count 3").split(" "));
        assertThat(made.err()).isEmpty();
        assertThat(made.exitCode()).isZero();
        assertThat(made.out().lines()).hasSize(3);

        Result decoded = Cli.launchWithInput(made.out(), "id", "decode", "--scheme", scheme.replaceFirst(" .*", ""));
        assertThat(decoded.err()).isEmpty();
        assertThat(decoded.exitCode()).isZero();
    }

    @Test
    void countsInTheDatabase() {
        assertThat(generate("--scheme=serial", "--count=2", "--server", url(0))).isEqualTo(new Result(0, "1\n2\n", ""));
        assertThat(generate("--scheme=serial", "--count=2", "--server", url(0), "-o=json"))
                .isEqualTo(new Result(0, "[\"3\",\"4\"]\n", ""));
        assertThat(generate("--scheme=serial", "--count=2", "--server", url(0), "-o=yaml"))
                .isEqualTo(new Result(0, "- \"5\"\n- \"6\"\n", ""));
    }

    @Test
    void asksTicketServersInTurn() {
        assertThat(generate("--scheme=tickets", "--count=4", "--server", url(0), "--server", url(1)))
                .isEqualTo(new Result(0, "1\n2\n3\n4\n", ""));
    }

    @Test
    void claimsAWorkerAndGivesItBack() throws SQLException {
        for (int launch = 1; launch <= 2; launch++) {
            assertThat(generate("--scheme=decimalid", "--worker=92", "--count=2", "--server", url(0)))
                    .isEqualTo(new Result(0, "1000920000%1$s\n2000920000%1$s\n".formatted(launch), ""));
        }
        execute("UPDATE shardflake_scheme.lease SET expires_at = 'infinity'");

        assertThat(generate("--scheme=decimalid", "--worker=92", "--server", url(0)))
                .isEqualTo(new Result(
                        4,
                        "",
                        "error: worker 92 of decimalid is claimed; wait until its claim ends, or take another\n"));
        execute("DELETE FROM shardflake_scheme.lease");
    }

    @Test
    void drawsFromInstagramsFunction() {
        Result made = generate("--scheme=instagram", "--shard=1341", "--count=2", "--server", url(0));

        List<String> shards = new ArrayList<>();
        Cli.launchWithInput(made.out(), "id", "decode", "--scheme=instagram", "-o=json")
                .out()
                .lines()
                .forEach(line -> shards.add(line.replaceFirst(".*\"shard\":([0-9]+).*", "$1")));
        assertThat(shards).containsExactly("1341", "1341");
    }

    @Test
    void drawsFromShardflakesFunction() throws SQLException {
        assertThat(generate("--scheme=shardflake", "--server", url(1)))
                .isEqualTo(new Result(
                        4,
                        "",
                        "error: the shardflake function library is not deployed in database %s: table shardflake.layout is missing; deploy it there first, with FunctionLibrary.deploy or the changelog shardflake/server.changelog.xml\n"
                                .formatted(postgres.database(1).name())));
        try (Connection connection = postgres.database(0).connect();
                Statement statement = connection.createStatement()) {
            FunctionLibrary.deploy(connection);
            statement.execute("SELECT shardflake.create_shard(7)");
        }

        assertThat(generate("--scheme=shardflake", "--shard=7", "--server", url(0))
                        .out())
                .matches("[0-9]+\n");
        assertThat(generate("--scheme=shardflake", "--shard=8", "--server", url(0)))
                .isEqualTo(new Result(1, "", """
                                error: server %s: shard 8 is not on this server
                                hint: Ask the server that holds it, or create it here: SELECT shardflake.create_shard(8).
                                """.formatted(url(0).replaceFirst(":[^:@/]*@", "@"))));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "--scheme=uuidv4 --count=0 | count is 0, allowed: 1 or more",
                "--scheme=snowflake | scheme snowflake needs a worker 0..1023, or a server to claim one from",
                "--scheme=snowflake --worker=1024 | worker 1024 is out of range 0..1023",
                "--scheme=serial | scheme serial needs a server",
                "--scheme=tickets | scheme tickets needs two servers, not 0",
                "--scheme=uuidv7 --epoch=0 | scheme uuidv7 has no epoch to choose",
                "--scheme=ulid | 'ulid' is not a scheme; there are shardflake, serial, tickets, uuidv4, uuidv7, objectid,"
                        + " snowflake, snowflake-java, flake, simpleflake, instagram, uniqueid, traceid, decimalid"
            })
    void refusesWhatCannotBe(String args, String message) {
        assertThat(generate(args.split(" "))).isEqualTo(new Result(2, "", "error: " + message + "\n"));
    }

    @Test
    void saysThatTheServerCannotBeReached() throws IOException {
        int port;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = socket.getLocalPort();
        }

        assertThat(generate("--scheme=serial", "--server", "postgresql://ann@127.0.0.1:%s/app".formatted(port)))
                .isEqualTo(new Result(1, "", """
                                error: cannot reach server 127.0.0.1:%s: Connection refused
                                hint: check host and port, and that PostgreSQL runs there and listens for TCP connections
                                """.formatted(port)));
    }

    private static Result generate(String... args) {
        String[] all = new String[args.length + 2];
        all[0] = "id";
        all[1] = "generate";
        System.arraycopy(args, 0, all, 2, args.length);
        return Cli.launch(all);
    }

    private static String url(int server) {
        return postgres.database(server).uri();
    }

    private static void execute(String sql) throws SQLException {
        try (Connection connection = postgres.database(0).connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
