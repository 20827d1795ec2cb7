/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A server managed by Patroni: two members, one of which is the primary and the other its synchronous standby, and an etcd.
 *
 * <p>Patroni, etcd and PostgreSQL's client programs are those of the machine; PostgreSQL itself is the embedded one. Since the
 * client programs may be older, a copy of the primary is made by a script, and a member whose timeline has ended is copied
 * again. If the programs are of the server's version, Patroni rewinds it.
 */
public final class PatroniPair implements AutoCloseable {

    private static final Duration TIMEOUT = Duration.ofSeconds(90);

    /** Directories in which Debian installs programs outside the path, newest first. */
    private static final List<Path> DIRECTORIES = Stream.of("18", "17", "16", "15")
            .map(version -> Path.of("/usr/lib/postgresql", version, "bin"))
            .toList();

    private static final List<String> CLIENT_PROGRAMS =
            List.of("pg_controldata", "pg_isready", "pg_basebackup", "pg_rewind");

    private static final String SLOTS =
            "SELECT string_agg(slot_name, ' ' ORDER BY slot_name) FROM pg_replication_slots WHERE slot_type = 'logical' AND database = '%s' AND %s";

    private final Path directory;
    private final Process etcd;
    private final int patroniVersion;
    private final List<Member> members;
    private final Thread shutdownHook = new Thread(this::stopEverything, "patroni-shutdown");

    private PatroniPair(Path directory, Process etcd, int patroniVersion, List<Member> members) {
        this.directory = directory;
        this.etcd = etcd;
        this.patroniVersion = patroniVersion;
        this.members = members;
        Runtime.getRuntime().addShutdownHook(shutdownHook);
    }

    /** The programs that are not installed. */
    public static List<String> missingPrograms() {
        return Stream.concat(Stream.of("patroni", "etcd"), CLIENT_PROGRAMS.stream())
                .filter(name -> program(name).isEmpty())
                .toList();
    }

    private static Optional<Path> program(String name) {
        return Programs.find(name).or(() -> Programs.find(name, DIRECTORIES.toArray(Path[]::new)));
    }

    private static Path required(String name) {
        return program(name).orElseThrow(() -> new PostgresClusterException(name + " is not installed"));
    }

    /** Starts both members, and returns when the standby is a synchronous one. */
    public static PatroniPair start() {
        Path directory = null;
        PatroniPair pair = null;
        Process etcd = null;
        try {
            directory = Files.createTempDirectory("patroni-");
            int etcdPort = Ports.free();
            etcd = startEtcd(directory, etcdPort);
            int patroniVersion = majorVersion(required("patroni"));
            Path programs = programs(directory);
            Path script = script(directory);
            boolean rewinds = majorVersion(programs.resolve("pg_rewind")) == majorVersion(programs.resolve("postgres"));
            List<Member> members = new ArrayList<>();
            pair = new PatroniPair(directory, etcd, patroniVersion, members);
            for (String name : List.of("member_a", "member_b")) {
                Path its = Files.createDirectory(directory.resolve(name));
                int port = Ports.free();
                int apiPort = Ports.free();
                String other = name.equals("member_a") ? "member_b" : "member_a";
                Path configuration = Files.writeString(
                        its.resolve("patroni.yml"),
                        configuration(its, name, other, port, apiPort, etcdPort, programs, script, rewinds));
                members.add(new Member(name, port, apiPort, its, configuration));
            }
            for (Member member : members) {
                member.startPatroni();
                member.awaitConnection();
            }
            pair.awaitStandby();
            return pair;
        } catch (IOException | RuntimeException e) {
            if (pair != null) {
                pair.close();
            } else if (directory != null) {
                if (etcd != null) {
                    etcd.destroyForcibly();
                    etcd.onExit().join();
                }
                Directories.delete(directory);
            }
            throw new PostgresClusterException("Patroni did not start: " + e.getMessage(), e);
        }
    }

    private static Process startEtcd(Path directory, int port) throws IOException {
        String clients = "http://127.0.0.1:" + port;
        String peers = "http://127.0.0.1:" + Ports.free();
        List<String> command = List.of(
                required("etcd").toString(),
                "--data-dir=" + directory.resolve("etcd"),
                "--listen-client-urls=" + clients,
                "--advertise-client-urls=" + clients,
                "--listen-peer-urls=" + peers,
                "--initial-advertise-peer-urls=" + peers,
                "--initial-cluster=default=" + peers);
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("etcd.log").toFile())
                .start();
    }

    /** A directory with links to the embedded server's programs and the machine's other programs, as Patroni needs them. */
    private static Path programs(Path directory) throws IOException {
        Path programs = Files.createDirectory(directory.resolve("bin"));
        Path embedded = EmbeddedBinaries.unpack().programs();
        for (String name : List.of("postgres", "pg_ctl", "initdb")) {
            Files.createSymbolicLink(programs.resolve(name), embedded.resolve(name));
        }
        for (String name : CLIENT_PROGRAMS) {
            Files.createSymbolicLink(programs.resolve(name), required(name));
        }
        return programs;
    }

    private static Path script(Path directory) throws IOException {
        Path script = directory.resolve("copy.py");
        try (var source = PatroniPair.class.getResourceAsStream("patroni-copy.py")) {
            Files.copy(Objects.requireNonNull(source), script);
        }
        return script;
    }

    private static int majorVersion(Path program) {
        return Integer.parseInt(Programs.version(program).replaceFirst("\\..*", ""));
    }

    private static String configuration(
            Path directory,
            String name,
            String other,
            int port,
            int apiPort,
            int etcdPort,
            Path programs,
            Path script,
            boolean rewinds) {
        return """
                scope: pair
                name: %1$s
                restapi: {listen: '127.0.0.1:%4$s', connect_address: '127.0.0.1:%4$s'}
                etcd3: {host: '127.0.0.1:%5$s'}
                bootstrap:
                  dcs:
                    ttl: 30
                    loop_wait: 1
                    retry_timeout: 10
                    primary_start_timeout: 0
                    master_start_timeout: 0
                    synchronous_mode: true
                    ignore_slots: [{type: logical, plugin: pgoutput}]
                    postgresql:
                      use_slots: true
                      use_pg_rewind: %8$s
                      remove_data_directory_on_diverged_timelines: true
                      parameters:
                        wal_level: logical
                        max_worker_processes: 32
                        max_logical_replication_workers: 16
                        hot_standby_feedback: 'on'
                        sync_replication_slots: 'on'
                  initdb: [{auth: trust}, {encoding: UTF8}, no-locale, no-sync]
                postgresql:
                  listen: '127.0.0.1:%3$s'
                  connect_address: '127.0.0.1:%3$s'
                  data_dir: '%2$s/data'
                  bin_dir: '%6$s'
                  create_replica_methods: [copy]
                  copy: {command: '/usr/bin/python3 %7$s'}
                  authentication:
                    superuser: {username: postgres}
                    replication: {username: postgres}
                  parameters:
                    synchronized_standby_slots: '%9$s'
                    unix_socket_directories: ''
                    wal_retrieve_retry_interval: 100ms
                    wal_receiver_status_interval: 1s
                  pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust']
                """.formatted(name, directory, port, apiPort, etcdPort, programs, script, rewinds, other);
    }

    /** Whether Patroni makes standbys keep logical slots: from version 4 it writes the name of a database that they need for it. */
    public boolean keepsSlots() {
        return patroniVersion >= 4 && members.get(0).majorVersion() >= 17;
    }

    /** The libpq URI of a database, with both members as hosts. */
    public String uri(String database) {
        return "postgresql://postgres@127.0.0.1:%s,127.0.0.1:%s/%s"
                .formatted(members.get(0).port(), members.get(1).port(), ClusterServer.encode(database));
    }

    /** The current primary, after waiting until there is one. */
    public PostgresServer primary() {
        return await(
                "there is no primary",
                () -> members.stream()
                        .filter(member -> member.answers("SELECT NOT pg_is_in_recovery()"))
                        .findFirst());
    }

    /** Waits until the other member is a synchronous standby, which Patroni could promote. */
    public void awaitStandby() {
        await("there is no synchronous standby", () -> {
            Member primary = (Member) primary();
            boolean isReady =
                    primary.answers("SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
                            && other(primary).isSynchronous();
            return isReady ? Optional.of(primary) : Optional.empty();
        });
    }

    /** Waits for a synchronous standby that has every slot of moves in a database at the primary's position. */
    public void awaitSlots(String database) {
        awaitStandby();
        // Its worker looks after pauses that grow to 30 s while there is nothing to keep; a new one begins with 200 ms.
        other(primary())
                .text(
                        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'slotsync worker'");
        await("the standby lacks slots", () -> {
            Member primary = (Member) primary();
            return other(primary)
                            .text(SLOTS.formatted(database, "synced AND NOT temporary"))
                            .equals(primary.text(SLOTS.formatted(database, "NOT temporary")))
                    ? Optional.of(primary)
                    : Optional.empty();
        });
    }

    private Member other(PostgresServer member) {
        return members.get(members.get(0) == member ? 1 : 0);
    }

    /** Kills the primary with {@code kill -9}, and waits until the other member is the primary. Patroni brings the old one back. */
    public void killPrimary() {
        Member old = (Member) primary();
        old.killPostgres();
        awaitPrimary(other(old));
    }

    /** Kills the primary and its Patroni, as if its machine had failed; {@link #start(PostgresServer)} brings it back. */
    public PostgresServer killMachineOfPrimary() {
        Member old = (Member) primary();
        old.killPatroni();
        old.killPostgres();
        awaitPrimary(other(old));
        return old;
    }

    /** Starts a member whose machine failed. */
    public void start(PostgresServer member) {
        try {
            ((Member) member).startPatroni();
        } catch (IOException e) {
            throw new PostgresClusterException("cannot start Patroni: " + e, e);
        }
    }

    /** Makes the standby the primary in a planned switchover, and the primary its standby. */
    public void switchOver() {
        awaitStandby();
        Member old = (Member) primary();
        old.post(
                "switchover",
                "{\"leader\":\"%1$s\",\"candidate\":\"%2$s\"}"
                        .formatted(old.name(), other(old).name()));
        awaitPrimary(other(old));
    }

    private static void awaitPrimary(Member member) {
        await(
                member + " is not the primary",
                () -> Optional.of(member).filter(server -> server.answers("SELECT NOT pg_is_in_recovery()")));
    }

    private static <T> T await(String otherwise, Supplier<Optional<T>> condition) {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (true) {
            Optional<T> value = condition.get();
            if (value.isPresent()) {
                return value.get();
            }
            if (System.nanoTime() - deadline > 0) {
                throw new PostgresClusterException(otherwise + " after " + TIMEOUT);
            }
            try {
                Thread.sleep(50);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new PostgresClusterException("interrupted: " + otherwise, e);
            }
        }
    }

    @Override
    public void close() {
        Runtime.getRuntime().removeShutdownHook(shutdownHook);
        stopEverything();
    }

    private void stopEverything() {
        members.forEach(Member::close);
        etcd.destroyForcibly();
        etcd.onExit().join();
        Directories.delete(directory);
    }

    /** One of the two members, with its Patroni. */
    private static final class Member extends ClusterServer {
        private final int port;
        private final int apiPort;
        private final Path directory;
        private final Path configuration;
        private @Nullable Process patroni;

        Member(String name, int port, int apiPort, Path directory, Path configuration) {
            super(name);
            this.port = port;
            this.apiPort = apiPort;
            this.directory = directory;
            this.configuration = configuration;
        }

        @Override
        String host() {
            return "127.0.0.1";
        }

        @Override
        int port() {
            return port;
        }

        private void startPatroni() throws IOException {
            patroni = new ProcessBuilder(
                            EmbeddedBinaries.asUser(List.of(required("patroni").toString(), configuration.toString())))
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log().toFile()))
                    .start();
        }

        private Path log() {
            return directory.resolve("patroni.log");
        }

        private void killPatroni() {
            if (patroni != null) {
                patroni.destroyForcibly();
                patroni.onExit().join();
                patroni = null;
            }
        }

        /** Kills all processes of the server, since sessions outlive the postmaster for a moment. */
        private void killPostgres() {
            EmbeddedServer.postmaster(directory.resolve("data")).ifPresent(postmaster -> {
                List<ProcessHandle> all = Stream.concat(Stream.of(postmaster), postmaster.descendants())
                        .toList();
                all.forEach(ProcessHandle::destroyForcibly);
                all.forEach(process -> {
                    try {
                        process.onExit().get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                        throw new PostgresClusterException("interrupted while killing " + this, e);
                    } catch (ExecutionException | TimeoutException e) {
                        throw new PostgresClusterException("cannot kill " + this + ": " + e, e);
                    }
                });
            });
        }

        boolean answers(String condition) {
            return text(condition).equals("t");
        }

        /** The answer to a query as text, or the error. */
        String text(String sql) {
            try (Connection connection = connect();
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery(sql)) {
                row.next();
                return String.valueOf(row.getString(1));
            } catch (SQLException e) {
                return String.valueOf(e.getMessage());
            }
        }

        /** Whether Patroni would promote the member; etcd reports that a moment after the primary begins to wait for the member. */
        boolean isSynchronous() {
            return request("GET", "synchronous", "").statusCode() == 200;
        }

        void post(String path, String json) {
            HttpResponse<String> response = request("POST", path, json);
            if (response.statusCode() != 200) {
                throw new PostgresClusterException(this + " refused: " + response.body());
            }
        }

        private HttpResponse<String> request(String method, String path, String body) {
            HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + apiPort + "/" + path))
                    .method(method, HttpRequest.BodyPublishers.ofString(body))
                    .build();
            try {
                return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            } catch (IOException e) {
                throw new PostgresClusterException("cannot ask " + this + ": " + e, e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new PostgresClusterException("interrupted while asking " + this, e);
            }
        }

        @Override
        String logTail() {
            return Command.tail(log());
        }

        @Override
        boolean isRunning() {
            return patroni != null && patroni.isAlive();
        }

        @Override
        void open() {
            throw new UnsupportedOperationException("Patroni starts " + this);
        }

        @Override
        void close() {
            killPatroni();
            killPostgres();
        }

        @Override
        public void crash() {
            killPostgres();
        }

        @Override
        public void stop() {
            throw new UnsupportedOperationException("Patroni stops " + this);
        }

        @Override
        public void start() {
            throw new UnsupportedOperationException("Patroni starts " + this);
        }

        @Override
        public boolean canRestart() {
            return false;
        }
    }
}
