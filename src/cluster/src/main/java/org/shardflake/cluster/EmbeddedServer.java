/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** A server on this machine, controlled through {@code pg_ctl}; as a daemon, it is not reached by Ctrl-C in the terminal. */
class EmbeddedServer extends ClusterServer {
    /** The role whose members must give their password. */
    static final String BY_PASSWORD = "logs_in_by_password";

    private static final Duration TIMEOUT = Duration.ofSeconds(90);

    private final EmbeddedBinaries binaries;
    private final Path directory;
    private final Path data;
    private final Path log;
    private final Path output;
    private final int port;
    private final OptionalInt version;
    private final Map<String, String> settings;
    private final Map<String, String> environment;
    private boolean closed;
    private boolean isFrozen;

    EmbeddedServer(
            String name,
            EmbeddedBinaries binaries,
            Path directory,
            int port,
            OptionalInt version,
            Map<String, String> settings,
            Map<String, String> environment) {
        super(name);
        this.binaries = binaries;
        this.directory = directory;
        this.data = directory.resolve("data");
        this.log = directory.resolve("postgres.log");
        this.output = directory.resolve("command.log");
        this.port = port;
        this.version = version;
        this.settings = settings;
        this.environment = environment;
    }

    @Override
    String host() {
        return "localhost";
    }

    @Override
    int port() {
        return port;
    }

    /** The directory of all the server's files. */
    Path directory() {
        return directory;
    }

    final Path data() {
        return data;
    }

    /** A standby of this server with the same binaries, not created yet. */
    EmbeddedStandby newStandby(String standbyName) {
        return new EmbeddedStandby(
                standbyName, this, binaries, directory.resolveSibling(standbyName), Ports.free(), version, environment);
    }

    @Override
    void open() {
        start();
        version.ifPresent(wanted -> requireVersion(
                wanted, "build with -Dpostgres.version=" + wanted + ", which selects postgres.binaries.version"));
    }

    @Override
    public synchronized void start() {
        if (closed) {
            throw new PostgresClusterException(this + " has been closed");
        }
        if (isRunning()) {
            return;
        }
        if (!Files.exists(data)) {
            initialize();
        }
        try {
            pgCtl("start", "-l", log.toString(), "-w", "-t", "60");
        } catch (PostgresClusterException e) {
            throw new PostgresClusterException(this + " did not start: " + e.getMessage() + logTail(), e);
        }
        awaitConnection();
    }

    @Override
    public synchronized void crash() {
        shutDown("immediate");
    }

    @Override
    public synchronized void kill() {
        ProcessHandle postmaster = running();
        kill("STOP", postmaster); // It starts no more processes.
        killAll(postmaster::descendants);
        killAll(() -> Stream.of(postmaster));
        try {
            // PostgreSQL takes a process that has ended, but whose parent has not asked for its end, for a running
            // server.
            Files.deleteIfExists(data.resolve("postmaster.pid"));
        } catch (IOException e) {
            throw new PostgresClusterException("cannot remove the lock file of " + this + ": " + e, e);
        }
    }

    /** Kills processes until all have ended, also those that the others start until then. */
    private void killAll(Supplier<Stream<ProcessHandle>> processes) {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (true) {
            List<ProcessHandle> running =
                    processes.get().filter(EmbeddedServer::isRunning).toList();
            if (running.isEmpty()) {
                return;
            }
            if (System.nanoTime() > deadline) {
                throw new PostgresClusterException(this + " does not end");
            }
            running.forEach(ProcessHandle::destroyForcibly);
            LockSupport.parkNanos(Duration.ofMillis(1).toNanos());
        }
    }

    /**
     * Whether a process is more than an entry that its parent has yet to remove. A process that is ending counts as running, since it is still
     * attached to the server's shared memory, and no server starts beside it.
     */
    private static boolean isRunning(ProcessHandle process) {
        try {
            String status = Files.readString(Path.of("/proc", Long.toString(process.pid()), "stat"));
            // "PID (command) STATE ...", where Z is a zombie and X a dead process.
            return "ZX".indexOf(status.charAt(status.lastIndexOf(')') + 2)) < 0;
        } catch (IOException e) {
            // It has ended, or this system has no /proc.
            return process.info().command().isPresent();
        }
    }

    @Override
    public synchronized void stop() {
        shutDown("fast");
    }

    @Override
    public boolean canRestart() {
        return true;
    }

    @Override
    public synchronized void freeze() {
        isFrozen = true;
        signal("STOP");
    }

    @Override
    public synchronized void thaw() {
        if (isFrozen) {
            signal("CONT");
            isFrozen = false;
        }
    }

    /** Signals the server's processes, the postmaster first, so that it starts no more of them. */
    private void signal(String signal) {
        ProcessHandle postmaster = running();
        kill(signal, postmaster);
        postmaster.descendants().forEach(process -> kill(signal, process));
    }

    private ProcessHandle running() {
        return postmaster(data).orElseThrow(() -> new PostgresClusterException(this + " does not run"));
    }

    private void kill(String signal, ProcessHandle process) {
        try {
            Command.run(List.of("kill", "-" + signal, Long.toString(process.pid())), Map.of(), output, TIMEOUT);
        } catch (PostgresClusterException e) {
            if (process.isAlive()) {
                throw e;
            }
        }
    }

    /** Stops the server in immediate mode, since its data is no longer needed and a fast shutdown would wait for subscribers. */
    @Override
    synchronized void close() {
        closed = true;
        try {
            thaw();
            shutDown("immediate");
        } catch (PostgresClusterException e) {
            postmaster(data).ifPresent(ProcessHandle::destroyForcibly);
            throw e;
        }
    }

    @Override
    boolean isRunning() {
        return isRunning(directory);
    }

    /** Whether the server in a directory is running. */
    static boolean isRunning(Path directory) {
        return postmaster(directory.resolve("data")).isPresent();
    }

    @Override
    String logTail() {
        return Command.tail(log);
    }

    private void shutDown(String mode) {
        if (isRunning()) {
            pgCtl("stop", "-m", mode, "-w", "-t", "60");
        }
    }

    final void pgCtl(String action, String... options) {
        List<String> command = binaries.command("pg_ctl", action, "-D", data.toString(), "-s");
        command.addAll(List.of(options));
        Command.run(command, environment, output, TIMEOUT);
    }

    /** Creates the data directory. */
    void initialize() {
        try {
            Files.createDirectories(directory);
            if (data.startsWith(EmbeddedProvider.MEMORY)) {
                DataTemplate.create(data, this::initdb);
            } else {
                initdb(data);
            }
            StringBuilder configuration = new StringBuilder("\n");
            settings.forEach((name, value) -> append(configuration, name, value));
            append(configuration, "port", Integer.toString(port));
            append(configuration, "listen_addresses", "localhost");
            // No socket files in a shared temporary directory.
            append(configuration, "unix_socket_directories", "");
            Files.writeString(data.resolve("postgresql.conf"), configuration, StandardOpenOption.APPEND);
            Path access = data.resolve("pg_hba.conf");
            Files.writeString(access, "host all +" + BY_PASSWORD + " all scram-sha-256\n" + Files.readString(access));
        } catch (IOException e) {
            throw new PostgresClusterException("cannot set up " + this + " in " + data + ": " + e, e);
        }
    }

    private void initdb(Path target) {
        Command.run(
                binaries.command(
                        "initdb",
                        "--pgdata=" + target,
                        "--username=" + user(),
                        "--auth=trust",
                        "--encoding=UTF8",
                        "--no-locale",
                        "--no-sync"),
                Map.of(),
                output,
                TIMEOUT);
    }

    static void append(StringBuilder configuration, String name, String value) {
        configuration
                .append(name)
                .append(" = '")
                .append(value.replace("'", "''"))
                .append("'\n");
    }

    static Optional<ProcessHandle> postmaster(Path data) {
        try (var lines = Files.lines(data.resolve("postmaster.pid"))) {
            return lines.findFirst()
                    .map(Long::valueOf)
                    .flatMap(ProcessHandle::of)
                    // After kill -9 the file names a process that is gone, or whose number another process now has.
                    .filter(process -> process.info()
                            .command()
                            .filter(command -> command.contains("postgres"))
                            .isPresent());
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
