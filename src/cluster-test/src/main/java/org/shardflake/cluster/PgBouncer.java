/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** A PgBouncer in transaction mode in front of one server, run by the installed program. The code that starts it closes it. */
public final class PgBouncer implements AutoCloseable {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final PostgresServer server;
    private final Path directory;
    private final int port;
    private final Process process;

    private PgBouncer(PostgresServer server, Path directory, int port, Process process) {
        this.server = server;
        this.directory = directory;
        this.port = port;
        this.process = process;
    }

    /** Whether the program is installed, on the path or in {@code /usr/sbin}. */
    public static boolean isInstalled() {
        return program().isPresent();
    }

    private static Optional<Path> program() {
        return Programs.find("pgbouncer").or(() -> Programs.find("pgbouncer", Path.of("/usr/sbin")));
    }

    /** Whether this version keeps prepared statements in transaction mode, as PgBouncer does from 1.21 on. */
    public static boolean keepsPreparedStatements() {
        String[] version = Programs.version(program().orElseThrow()).split("\\.", -1);
        return Integer.parseInt(version[0]) > 1 || Integer.parseInt(version[1]) >= 21;
    }

    /** Starts a PgBouncer in front of all databases of a server, for the server's superuser. */
    public static PgBouncer before(PostgresServer server) {
        return before(server, Map.of());
    }

    /**
     * Starts a PgBouncer in front of all databases of a server, for the server's superuser, with some settings.
     *
     * @param settings more settings of {@code pgbouncer.ini}, or other values
     */
    public static PgBouncer before(PostgresServer server, Map<String, String> settings) {
        Path program = program().orElseThrow(() -> new PostgresClusterException("pgbouncer is not installed"));
        Path directory = null;
        Process process = null;
        try {
            directory = Files.createTempDirectory("pgbouncer-");
            int port = Ports.free();
            Path ini = Files.writeString(directory.resolve("pgbouncer.ini"), ini(server, directory, port, settings));
            process = new ProcessBuilder(EmbeddedBinaries.asUser(List.of(program.toString(), ini.toString())))
                    .redirectErrorStream(true)
                    .redirectOutput(directory.resolve("pgbouncer.log").toFile())
                    .start();
            PgBouncer started = new PgBouncer(server, directory, port, process);
            started.awaitStart();
            return started;
        } catch (IOException | RuntimeException e) {
            String log = directory == null ? "" : Command.tail(directory.resolve("pgbouncer.log"));
            if (process != null) {
                process.destroyForcibly();
            }
            if (directory != null) {
                Directories.delete(directory);
            }
            throw new PostgresClusterException("pgbouncer did not start: " + e.getMessage() + log, e);
        }
    }

    private static String ini(PostgresServer server, Path directory, int port, Map<String, String> settings)
            throws IOException {
        ClusterServer behind = (ClusterServer) server;
        Path users = Files.writeString(
                directory.resolve("users.txt"), "\"%s\" \"%s\"\n".formatted(server.user(), server.password()));
        Map<String, String> all = new LinkedHashMap<>();
        all.put("listen_addr", "127.0.0.1");
        all.put("listen_port", Integer.toString(port));
        all.put("unix_socket_dir", "");
        all.put("auth_type", "trust");
        all.put("auth_file", users.toString());
        all.put("pool_mode", "transaction");
        if (keepsPreparedStatements()) {
            all.put("max_prepared_statements", "200");
        }
        all.putAll(settings);
        // Not "localhost", for which its resolver may find ::1 first, where no server listens.
        String address = InetAddress.getByName(behind.host()).getHostAddress();
        return "[databases]\n* = host=%s port=%s\n[pgbouncer]\n".formatted(address, behind.port())
                + all.entrySet().stream()
                        .map(setting -> setting.getKey() + " = " + setting.getValue())
                        .collect(Collectors.joining("\n", "", "\n"));
    }

    private void awaitStart() {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (!answers()) {
            if (!process.isAlive() || System.nanoTime() - deadline > 0) {
                throw new PostgresClusterException("it does not answer on port " + port);
            }
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new PostgresClusterException("interrupted while it started", e);
            }
        }
    }

    private boolean answers() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    /** The URL of one of the server's databases, without a password. */
    public String uri(String database) {
        return "postgresql://%s@127.0.0.1:%s/%s".formatted(server.user(), port, database);
    }

    /** Ends PgBouncer and every connection through it. */
    @Override
    public void close() {
        process.destroyForcibly();
        process.onExit().join();
        Directories.delete(directory);
    }
}
