/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;

class ServerWatchTest {

    private static PostgresCluster cluster;
    private static PostgresServer server;

    @BeforeAll
    static void start() {
        cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(1)
                .start();
        server = cluster.server(0);
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    @Test
    void aReadFromAFrozenServerEnds() throws Exception {
        try (Socket socket = connected(new ServerWatch(Duration.ofMillis(200), Duration.ofSeconds(1)))) {
            server.freeze();
            try {
                assertThat(catchThrowable(() -> socket.getInputStream().read()))
                        .isInstanceOf(NoAnswerException.class)
                        .hasMessageEndingWith("has not answered for 1 s");
            } finally {
                server.thaw();
            }
        }
    }

    @Test
    @Tag("full")
    void aWriteToWhoeverStoppedReadingEnds() throws Exception {
        // Nobody accepts: the kernel does, and takes what fits into its buffers.
        try (ServerSocket silent = new ServerSocket(0);
                Socket socket = new ServerWatch(Duration.ofMillis(200), Duration.ofSeconds(1)).socket()) {
            socket.connect(new InetSocketAddress("localhost", silent.getLocalPort()), 0);

            assertThat(catchThrowable(() -> {
                        for (int i = 0; i < 1000; i++) {
                            socket.getOutputStream().write(new byte[1 << 20]);
                        }
                    }))
                    .isInstanceOf(NoAnswerException.class);
        }
    }

    @Test
    void aStatementMayTakeLongWhileItsServerAnswers() throws Exception {
        try (Socket socket = connected(new ServerWatch(Duration.ofMillis(400), Duration.ofMillis(1500)))) {
            socket.setSoTimeout(5000);

            // The server says nothing before the client has begun; it is asked many times meanwhile.
            assertThat(catchThrowable(() -> socket.getInputStream().read()))
                    .isInstanceOf(java.net.SocketTimeoutException.class);
        }
    }

    @Test
    @Tag("full")
    void connectingToAFrozenServerEnds() {
        server.freeze();
        try {
            SQLException e = catchThrowableOfType(
                    SQLException.class,
                    () -> ServerUrl.parse(server.uri("postgres") + "?connect_timeout=1")
                            .connect("test"));

            assertThat((Throwable) e).hasRootCauseInstanceOf(java.net.SocketTimeoutException.class);
        } finally {
            server.thaw();
        }
    }

    @Test
    @Tag("full")
    void theLimitForConnectingIsNoneForStatements() throws SQLException {
        try (Connection connection = ServerUrl.parse(server.uri("postgres") + "?connect_timeout=1")
                        .connect("test");
                Statement statement = connection.createStatement()) {
            assertThat(connection.getNetworkTimeout()).isZero();
            statement.execute("SELECT pg_sleep(1.5)");
        }
    }

    private static Socket connected(ServerWatch watch) throws Exception {
        URI uri = URI.create(server.uri("postgres"));
        Socket socket = watch.socket();
        socket.connect(new InetSocketAddress(uri.getHost(), uri.getPort()), 0);
        return socket;
    }
}
