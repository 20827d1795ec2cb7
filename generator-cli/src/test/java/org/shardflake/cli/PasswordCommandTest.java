/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.ManagedRole;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.router.ShardRouter;

/** Commands whose password is printed by a program, on servers that ask for it by SCRAM. */
final class PasswordCommandTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final String ROLE = "asked_by_command";
    private static final Map<String, String> LASTING =
            Map.of("SHARDFLAKE_REPLICATION_USER", "lasting", "SHARDFLAKE_REPLICATION_PASSWORD", "it lasts");
    private static final Duration SOON = Duration.ofMinutes(2);
    private static final Duration SHORTLY = Duration.ofMillis(10);

    private static CliInstallation installation;

    @TempDir
    private static Path directory;

    private static Path secret;
    private static Path script;

    @BeforeAll
    static void createInstallation() throws Exception {
        installation = new CliInstallation(postgres);
        secret = directory.resolve("secret");
        script = directory.resolve("print password");
        for (int server = 0; server < 2; server++) {
            installation.execute(server, ManagedRole.createByPassword());
            installation.execute(
                    server,
                    "CREATE ROLE %s LOGIN SUPERUSER; GRANT %s TO %1$s".formatted(ROLE, ManagedRole.BY_PASSWORD));
            installation.execute(
                    server,
                    "CREATE ROLE lasting LOGIN REPLICATION PASSWORD 'it lasts'; GRANT %s TO lasting"
                            .formatted(ManagedRole.BY_PASSWORD));
        }
        rotate();
        installation.drop();
        assertThat(launch(Map.of(), "init", "--shards=8", "--server=db1=" + url(0), "--server=db2=" + url(1))
                        .exitCode())
                .isZero();
        Path changelog = directory.resolve("app.sql");
        Files.writeString(changelog, """
                --liquibase formatted sql
                --changeset app:1
                CREATE TABLE ${shard.schema}.note (id bigint PRIMARY KEY, uid bigint NOT NULL);
                """);
        assertThat(launch(Map.of(), "schema", "deploy", "--changelog=" + changelog)
                        .exitCode())
                .isZero();
    }

    @AfterAll
    static void dropRoles() throws SQLException {
        installation.drop();
        for (int server = 0; server < 2; server++) {
            installation.execute(server, "DROP OWNED BY %s; DROP ROLE %1$s, lasting".formatted(ROLE));
        }
    }

    @BeforeEach
    void beginAgain() throws Exception {
        rotate();
    }

    private static void rotate() throws Exception {
        Files.writeString(secret, "first secret");
        write("echo \"$PGUSER $PGPORT $PGDATABASE\" >> '%1$s/asked'; cat '%1$s/secret'".formatted(directory));
        Files.deleteIfExists(directory.resolve("asked"));
        password("first secret");
    }

    private static void write(String line) throws IOException {
        Files.writeString(script, "#!/bin/sh\n" + line + "\n");
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
    }

    private static void password(String password) throws SQLException {
        for (int server = 0; server < 2; server++) {
            installation.execute(server, "ALTER ROLE %s PASSWORD '%s'".formatted(ROLE, password));
        }
    }

    private static String url(int server) {
        TestDatabase database = postgres.database(server);
        return CliInstallation.withoutPassword(database).replaceFirst("//[^@]*@", "//" + ROLE + "@");
    }

    private static Result launch(Map<String, String> more, String... args) {
        Map<String, String> environment = new HashMap<>(Map.of(
                "SHARDFLAKE_CATALOG",
                url(0),
                "SHARDFLAKE_PASSWORD_COMMAND",
                "'" + script + "'",
                "PGPASSWORD",
                "not this one",
                "PATH",
                System.getenv("PATH")));
        environment.putAll(more);
        return Cli.launch(InputStream.nullInputStream(), environment, args);
    }

    @Test
    void commandsLogInWithWhatItPrintsAlsoAfterARotation() throws Exception {
        assertThat(launch(Map.of(), "map", "show").exitCode()).isZero();

        password("second secret");
        Files.writeString(secret, "second secret\n");
        Result doctor = launch(Map.of(), "doctor", "--stacktrace");

        assertThat(doctor.out() + doctor.err()).doesNotContain("secret", "refused");
        assertThat(doctor.exitCode()).isZero();
        assertThat(installation.query(0, "SELECT count(*) FROM shardflake_catalog.server WHERE url ~ 'secret'"))
                .isEqualTo("0");
        // One run for each server in each command, however many connections it opened.
        assertThat(Files.readAllLines(directory.resolve("asked")))
                .hasSizeLessThanOrEqualTo(6)
                .allMatch(line -> line.startsWith(ROLE + " "));
    }

    @Test
    @Tag("full")
    // For many rotations: -Dpasswords.rotations=50 -Djunit.jupiter.execution.timeout.mode=disabled
    void shardsMoveUnderLoadWhilePasswordsAreReplaced() throws Exception {
        rotateWhileShardsMove(Integer.getInteger("passwords.rotations", 2));
    }

    /** Servers refuse the old password at once, and the new one is handed out later, as by services that change it at the server first. */
    private static void rotateWhileShardsMove(int rotations) throws Exception {
        String count =
                "SELECT count(*) FROM shardflake_catalog.move WHERE phase IN ('copying', 'catching up', 'following')";
        AtomicReference<String> current = new AtomicReference<>("first secret");
        AtomicBoolean ends = new AtomicBoolean();
        AtomicLong written = new AtomicLong();
        AtomicInteger moved = new AtomicInteger();
        installation.execute(0, "TRUNCATE shard_0001.note");
        ExecutorService threads = Executors.newCachedThreadPool();
        try (ShardRouter router = ShardRouter.builder()
                .catalog(url(0))
                .poolSize(2)
                // The password is handed out when a move asks for it, which may not be soon.
                .connectionTimeout(SOON)
                .credentials(ROLE, null)
                .credentials(login -> Objects.requireNonNull(current.get()))
                .build()) {
            Future<?> writes = threads.submit(() -> {
                while (!ends.get()) {
                    router.run(1, tx -> {
                        try (Statement insert = tx.connection().createStatement()) {
                            insert.execute(tx.sql("INSERT INTO ${shard.schema}.note (uid) VALUES (1)"));
                            // It stays in the session, which is therefore replaced.
                            insert.execute("PREPARE left_here AS SELECT 1");
                        }
                    });
                    written.incrementAndGet();
                }
                return true;
            });
            Future<?> moves = threads.submit(() -> {
                while (!ends.get() || moved.get() % 2 != 0) {
                    String to = moved.get() % 2 == 0 ? "db2" : "db1";
                    Result move = launch(LASTING, "move", "run", "--shards=1", "--to=" + to);
                    assertThat(move.exitCode()).as(move.toString()).isZero();
                    moved.incrementAndGet();
                }
                return true;
            });
            BooleanSupplier isOver = () -> moves.isDone() || writes.isDone();
            for (int rotation = 1; rotation <= rotations && !isOver.getAsBoolean(); rotation++) {
                String next = "secret of rotation " + rotation;
                await().atMost(SOON)
                        .pollInterval(SHORTLY)
                        .until(() -> isOver.getAsBoolean()
                                || !installation.query(0, count).equals("0"));
                password(next);
                int before = timesAsked();
                await().atMost(SOON)
                        .pollInterval(SHORTLY)
                        .until(() -> isOver.getAsBoolean() || timesAsked() > before + 1);
                current.set(next);
                Path file = Files.writeString(directory.resolve("next"), next);
                Files.move(file, secret, StandardCopyOption.ATOMIC_MOVE);
                int then = moved.get();
                await().atMost(SOON).pollInterval(SHORTLY).until(() -> isOver.getAsBoolean() || moved.get() > then);
            }
            ends.set(true);
            moves.get();
            writes.get();
        } finally {
            ends.set(true);
            threads.shutdownNow();
        }
        assertThat(installation.query(0, "SELECT count(*) FROM shard_0001.note"))
                .isEqualTo(String.valueOf(written.get()));
    }

    private static int timesAsked() throws IOException {
        Path asked = directory.resolve("asked");
        return Files.exists(asked) ? Files.readAllLines(asked).size() : 0;
    }

    @Test
    void aFailureIsShownWithItsErrorsAndWithoutItsOutput() throws Exception {
        write("echo 'first secret'; echo 'the token has expired: first secret' >&2; exit 7");

        Result failed = launch(Map.of(), "map", "show");

        assertThat(failed.exitCode()).isEqualTo(1);
        assertThat(failed.err())
                .contains("there is no password for user " + ROLE + " at localhost")
                .contains("the password command failed with exit code 7: the token has expired: ***")
                .contains("hint: run the password command by itself")
                .doesNotContain("secret");

        write("echo one; echo two");
        assertThat(launch(Map.of(), "map", "show").err())
                .contains("printed more than one line")
                .doesNotContain("two");
        write("exit 0");
        assertThat(launch(Map.of(), "map", "show").err()).contains("printed nothing");
        write("printf 'Z\\374rich'");
        assertThat(launch(Map.of(), "map", "show").err()).contains("printed bytes that are not UTF-8");
        assertThat(launch(Map.of("SHARDFLAKE_PASSWORD_COMMAND", "nowhere/to-be-found"), "map", "show")
                        .err())
                .contains("cannot be started");
    }

    @Test
    void noShellRunsIt() {
        Result variable = launch(Map.of(), "map", "show", "--password-command=print --host $PGHOST");

        assertThat(variable.exitCode()).isEqualTo(2);
        assertThat(variable.err()).isEqualTo("""
                error: the password command has $PGHOST, which stays as it is
                hint: no shell runs it; for variables and pipes write sh -c '...', or name a script of your own
                """);
        assertThat(launch(Map.of(), "map", "show", "--password-command=print | head")
                        .exitCode())
                .isEqualTo(2);
        assertThat(launch(Map.of(), "map", "show", "--password-command=print 'open")
                        .err())
                .contains("has a ' without its end");
    }

    @Test
    void aShellMayBeNamed() throws Exception {
        Result shown = launch(
                Map.of(),
                "map",
                "show",
                "--password-command=sh -c 'test \"$PGUSER\" = %s && cat \"%s\"'".formatted(ROLE, secret));

        assertThat(shown.err()).isEmpty();
        assertThat(shown.exitCode()).isZero();
    }

    @Test
    void aMoveNeedsALoginThatLasts() throws Exception {
        Result refused = launch(Map.of(), "move", "run", "--shards=0", "--to=db2");

        assertThat(refused.exitCode()).isEqualTo(4);
        assertThat(refused.err())
                .contains("a subscription would keep a password of db1 that expires")
                .contains("set SHARDFLAKE_REPLICATION_USER and SHARDFLAKE_REPLICATION_PASSWORD");
        assertThat(installation.query(0, "SELECT count(*) FROM shardflake_catalog.move"))
                .isEqualTo("0");

        Result moved = launch(LASTING, "move", "run", "--shards=0", "--to=db2");

        assertThat(moved.err()).doesNotContain("error:", "it lasts");
        assertThat(moved.exitCode()).isZero();
    }

    /** The server that sends is asked by name and knows the role; the subscriber has the role's name in its connection string. */
    @Test
    void theDoctorFindsALoginOfMovesWhosePasswordExpires() throws Exception {
        assertThat(launch(LASTING, "move", "start", "--shards=2", "--to=db2").exitCode())
                .isZero();

        installation.execute(0, "ALTER ROLE lasting VALID UNTIL '2999-12-31 23:59:59Z'");
        Result soon = launch(Map.of(), "doctor");
        installation.execute(0, "ALTER ROLE lasting VALID UNTIL '2001-02-03 04:05:06Z'");
        installation.execute(
                0,
                "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name ~ '^shardflake_' AND active");
        Result over = launch(Map.of(), "doctor");
        installation.execute(0, "ALTER ROLE lasting VALID UNTIL 'infinity'");
        Result lasts = launch(Map.of(), "doctor");
        String move = installation.query(0, "SELECT id FROM shardflake_catalog.move");
        assertThat(launch(LASTING, "move", "cancel", move, "--yes").exitCode()).isZero();

        assertThat(soon.out())
                .containsPattern("warning +db1 +password-expires +the password of role lasting, ")
                .contains("expires at 2999-12-31 23:59:59 UTC", "ALTER ROLE lasting VALID UNTIL 'infinity'");
        assertThat(over.out()).contains("expired at 2001-02-03 04:05:06 UTC");
        assertThat(lasts.out()).doesNotContain("password-expires");
    }
}
