/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresExtension;

/**
 * The launcher as users call it, in a tree of its own with the jar that this build made.
 *
 * <p>Where a test is about building, the tree's {@code mvnw} is a script that notes its call and puts that same jar
 * in place: Maven is not what is tested, and a build of the real tree would disturb the one that runs this test.
 */
class LauncherIT {

    private static final Path MODULE = Path.of("").toAbsolutePath();
    private static final PathMatcher NEEDED = FileSystems.getDefault()
            .getPathMatcher("glob:**/{picocli,shardflake-id,shardflake-router,shardflake-operations}-*.jar");
    private static final String DECODED = """
            ID                    TIME                      SHARD  SEQUENCE  SCHEMA
            5                     2025-01-01T00:00:00Z      0      5         shard_0000
            """;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    private Path temp;

    private Path root;
    private Path home;
    private Path launcher;

    @BeforeEach
    void layOutATree() throws IOException {
        root = Files.createDirectories(temp.resolve("a path with spaces"));
        home = Files.createDirectories(root.resolve("generator-cli"));
        launcher = Files.copy(MODULE.resolve("shardflake"), home.resolve("shardflake"));
        Path lib = Files.createDirectories(home.resolve("target/lib"));
        Files.copy(jar(), home.resolve("target/shardflake.jar"));
        try (Stream<Path> jars = Files.list(MODULE.resolve("target/lib"))) {
            for (Path jar : jars.filter(NEEDED::matches).toList()) {
                Files.copy(jar, lib.resolve(jar.getFileName()));
            }
        }
    }

    /** Adds what a command needs that connects. */
    private void linkAllLibraries() throws IOException {
        try (Stream<Path> jars = Files.list(MODULE.resolve("target/lib"))) {
            for (Path jar : jars.toList()) {
                Path link = home.resolve("target/lib").resolve(jar.getFileName());
                if (!Files.exists(link)) {
                    Files.createSymbolicLink(link, jar.toAbsolutePath());
                }
            }
        }
    }

    @Test
    void runsFromAnotherDirectoryAndAPathWithSpaces() throws Exception {
        assertThat(run(launcher.toString(), "id", "decode", "5")).isEqualTo(new Result(0, DECODED, ""));
    }

    @Test
    void runsThroughSymbolicLinks() throws Exception {
        Path bin = Files.createDirectories(temp.resolve("bin"));
        Files.createSymbolicLink(bin.resolve("absolute"), launcher);
        Files.createSymbolicLink(bin.resolve("relative"), Path.of("absolute"));

        assertThat(run(bin.resolve("relative").toString(), "id", "decode", "5")).isEqualTo(new Result(0, DECODED, ""));
    }

    @Test
    void handsOverArgumentsAndExitCode() throws Exception {
        assertThat(run(launcher.toString(), "id", "decode", "a b", "")).isEqualTo(new Result(2, "", """
                                error: argument 1: "a b" is not an id: character 1 is not a digit
                                error: argument 2: "" is not an id: it is empty
                                """));
    }

    /** In the locale of cron, systemd and plain containers, and where the system has no other. */
    @Test
    void argumentsAndOutputAreUtf8InEveryLocale() throws Exception {
        String expected = "error: argument 1: \"Z\u00fcrich\" is not an id: character 1 is not a digit\n";
        String direct = "\"$JAVA_HOME/bin/java\" -jar '%s'".formatted(home.resolve("target/shardflake.jar"));

        for (String command : List.of("\"$LAUNCHER\"", direct)) {
            assertThat(shell("LC_ALL=C %s id decode 'Z\u00fcrich'".formatted(command)))
                    .as(command)
                    .isEqualTo(new Result(2, "", expected));
            assertThat(shell("LC_ALL=C %s id decode \"$(printf 'Z\\374rich')\"".formatted(command)))
                    .as(command)
                    .isEqualTo(new Result(2, "", """
                            error: word 3 of the command line is not UTF-8: Z\uFFFDrich
                            hint: give it in UTF-8, whatever the locale; a terminal with another encoding can convert it with iconv -t UTF-8
                            """));
        }
        Path key = Files.writeString(temp.resolve("schl\u00fcssel"), "00112233445566778899aabbccddeeff");
        assertThat(shell("LC_ALL=C \"$LAUNCHER\" id convert 5 --to public --id-key-file '%s'".formatted(key))
                        .exitCode())
                .isZero();
    }

    /** A key that arrived as other characters would lead to another shard, and a value would be stored as such. */
    @Test
    void keysAndValuesOfTheCommandLineAreUtf8InEveryLocale() throws Exception {
        linkAllLibraries();
        CliInstallation installation = new CliInstallation(postgres);
        installation.init();
        Path changelog = Files.writeString(
                temp.resolve("city.sql"),
                "--liquibase formatted sql\n--changeset ann:city\nCREATE TABLE city (id bigint PRIMARY KEY, name text);\n");
        assertThat(installation
                        .launch("schema", "deploy", "--changelog=" + changelog, "--search-path=" + temp)
                        .exitCode())
                .isZero();
        Map<String, String> environment = Map.of(
                "JAVA_HOME", System.getProperty("java.home"),
                "LC_ALL", "C",
                "SHARDFLAKE_CATALOG", installation.url(0),
                "PGPASSWORD", installation.password());

        assertThat(launch(environment, "sh", "-c", "\"$LAUNCHER\" map locate --key Z\u00fcrich"))
                .isEqualTo(installation.launch("map", "locate", "--key", "Z\u00fcrich"));
        Result written = launch(
                environment,
                "sh",
                "-c",
                "\"$LAUNCHER\" sql --write --yes --uid 0 \"INSERT INTO city (name) VALUES ('Z\u00fcrich')\"");

        assertThat(written.exitCode()).as(written.toString()).isZero();
        assertThat(installation.query(0, "SELECT name FROM shard_0000.city")).isEqualTo("Z\u00fcrich");
    }

    /** The owner of the password need not be the one who wrote the file. */
    @Test
    void aCatalogOfTheCurrentDirectoryIsNamedBeforeAPasswordGoesThere() throws Exception {
        linkAllLibraries();
        Path here = Files.writeString(temp.resolve("shardflake.yaml"), "catalog: postgresql://app@127.0.0.1:1/x\n");
        Files.setPosixFilePermissions(here, PosixFilePermissions.fromString("rw-r--r--"));
        Map<String, String> environment = Map.of("JAVA_HOME", System.getProperty("java.home"), "PGPASSFILE", "");
        Map<String, String> withPassword = new HashMap<>(environment);
        withPassword.put("PGPASSWORD", "geheim");
        String named = "catalog: postgresql://app@127.0.0.1:1/x, from shardflake.yaml in this directory\n";
        String[] show = {launcher.toString(), "map", "show"};

        assertThat(launch(environment, show).err()).startsWith("error: ");
        Result asked = launch(withPassword, show);
        assertThat(asked.exitCode()).isEqualTo(1);
        assertThat(asked.err()).startsWith(named).doesNotContain("geheim");
        assertThat(launch(withPassword, launcher.toString(), "map", "show", "--catalog=postgresql://app@127.0.0.1:1/y")
                        .err())
                .startsWith("error: ");

        Files.setPosixFilePermissions(here, PosixFilePermissions.fromString("rw-rw-rw-"));
        assertThat(launch(withPassword, show)).isEqualTo(new Result(4, "", """
                        error: shardflake.yaml is not used: anyone may write to it
                        hint: SHARDFLAKE_CONFIG=shardflake.yaml uses it anyway
                        """));
    }

    @Test
    void showsTheVersionOfItsJar() throws Exception {
        assertThat(run(launcher.toString(), "--version").out())
                .matches("(?s)shardflake [0-9.]+(-SNAPSHOT)?\nid layout 1\nJava .*");
    }

    @Test
    void endsQuietlyWhenThePipeIsClosed() throws Exception {
        Result result = shell("seq 1 2000000 | \"$LAUNCHER\" id decode | head -n 1; echo done");

        assertThat(result)
                .isEqualTo(new Result(
                        0, "ID                    TIME                      SHARD  SEQUENCE  SCHEMA\ndone\n", ""));
    }

    @Test
    void saysThatMemoryIsShortAndHowToAllowMore() throws Exception {
        Result result = shell("head -c 100000000 /dev/zero | SHARDFLAKE_JAVA_OPTS=-Xmx32m \"$LAUNCHER\" id decode");

        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.err()).matches("""
                        error: Java heap space: this Java may use 3[0-2] MiB
                        hint: allow more with SHARDFLAKE_JAVA_OPTS=-Xmx4g, some ten times the size of the largest row, and run the command again
                        """);
    }

    @Test
    void failsWhenTheDiskIsFull() throws Exception {
        assertThat(Path.of("/dev/full")).exists();

        assertThat(shell("\"$LAUNCHER\" id decode 5 >/dev/full"))
                .isEqualTo(new Result(1, "", "error: cannot write to standard output: No space left on device\n"));
    }

    @Test
    void buildsOnFirstUseAndLeavesTheInputToTheCommand() throws Exception {
        makeCheckout("cp '%s' generator-cli/target/shardflake.jar".formatted(jar()));
        Files.delete(home.resolve("target/shardflake.jar"));

        assertThat(shell("echo 5 | \"$LAUNCHER\" id decode")).isEqualTo(new Result(0, DECODED, """
                                building shardflake, as this is the first use or its sources have changed ...
                                [-q] [-Dquick] [-DskipTests] [-pl] [generator-cli] [-am] [package]
                                """));
        assertThat(run(launcher.toString(), "id", "decode", "5")).isEqualTo(new Result(0, DECODED, ""));
    }

    @Test
    void buildsAgainWhenASourceIsNewer() throws Exception {
        makeCheckout("touch generator-cli/target/shardflake.jar");
        assertThat(run(launcher.toString(), "id", "decode", "5").err()).isEmpty();

        Path source = Files.createDirectories(root.resolve("shard-router/src/main/java"))
                .resolve("New.java");
        Files.writeString(source, "");
        Files.setLastModifiedTime(source, FileTime.from(Instant.now().plus(Duration.ofSeconds(1))));

        assertThat(run(launcher.toString(), "id", "decode", "5").err()).startsWith("building shardflake");
    }

    @Test
    void buildsOnceWhenTheBuildLeavesTheJarAsItWas() throws Exception {
        makeCheckout("true");
        Files.setLastModifiedTime(
                home.resolve("target/shardflake.jar"),
                FileTime.from(Instant.now().minus(Duration.ofMinutes(1))));
        Files.writeString(
                Files.createDirectories(root.resolve("shard-router/src/main/java"))
                        .resolve("New.java"),
                "");

        assertThat(run(launcher.toString(), "id", "decode", "5").err()).startsWith("building shardflake");
        assertThat(run(launcher.toString(), "id", "decode", "5")).isEqualTo(new Result(0, DECODED, ""));
    }

    @Test
    @Tag("full")
    void buildsOnceWhenUsedTwiceAtOnce() throws Exception {
        makeCheckout("sleep 1; cp '%s' generator-cli/target/shardflake.jar".formatted(jar()));
        Files.delete(home.resolve("target/shardflake.jar"));

        Result result = shell("\"$LAUNCHER\" id decode 5 & \"$LAUNCHER\" id decode 5; wait");

        assertThat(result.out()).isEqualTo(DECODED + DECODED);
        assertThat(result.err()).containsOnlyOnce("[package]");
    }

    @Test
    void saysThatTheBuildFailed() throws Exception {
        makeCheckout("echo 'no compiler'; exit 3");
        Files.delete(home.resolve("target/shardflake.jar"));

        Result result = run(launcher.toString(), "id", "decode", "5");

        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.out()).isEmpty();
        assertThat(result.err()).contains("no compiler\nerror: the build failed\nhint: see the messages above");
    }

    @Test
    void namesAJavaThatIsMissingOrTooOld() throws Exception {
        Path old = temp.resolve("jdk-11");

        Result missing = launch(Map.of("JAVA_HOME", "/nowhere"), launcher.toString(), "id");
        assertThat(missing).isEqualTo(new Result(1, "", """
                                error: JAVA_HOME is /nowhere, but there is no Java in it
                                hint: point JAVA_HOME at a JDK 17 or newer, or unset it
                                """));

        Path java = Files.createDirectories(old.resolve("bin")).resolve("java");
        Files.writeString(java, "#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n");
        assertThat(java.toFile().setExecutable(true)).isTrue();
        assertThat(launch(Map.of("JAVA_HOME", old.toString()), launcher.toString(), "id"))
                .isEqualTo(new Result(1, "", """
                                error: Java 17 or newer is needed, but %s is 11.0.2
                                hint: install a JDK 17 or newer, and point JAVA_HOME at it
                                """.formatted(java)));
    }

    private static Path jar() {
        return MODULE.resolve("target/shardflake.jar");
    }

    /** Makes the tree a checkout, built by a script. */
    private void makeCheckout(String build) throws IOException {
        Files.writeString(home.resolve("pom.xml"), "");
        Files.writeString(root.resolve("pom.xml"), "");
        Path mvnw = root.resolve("mvnw");
        Files.writeString(mvnw, "#!/bin/sh\ncat\nprintf '[%s] ' \"$@\" | sed 's/ $//'; echo\n" + build + "\n");
        assertThat(mvnw.toFile().setExecutable(true)).isTrue();
        FileTime past = FileTime.from(Instant.now().minus(Duration.ofMinutes(1)));
        for (Path source : List.of(home.resolve("pom.xml"), root.resolve("pom.xml"))) {
            Files.setLastModifiedTime(source, past);
        }
    }

    private Result shell(String script) throws Exception {
        return run("sh", "-c", script);
    }

    private Result run(String... command) throws Exception {
        return launch(Map.of("JAVA_HOME", System.getProperty("java.home")), command);
    }

    private Result launch(Map<String, String> environment, String... command) throws Exception {
        Path out = Files.createTempFile(temp, "out", "");
        Path err = Files.createTempFile(temp, "err", "");
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(temp.toFile())
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment().remove("JAVA_TOOL_OPTIONS"); // Java would say that it picked them up
        builder.environment().putAll(environment);
        builder.environment().put("LAUNCHER", launcher.toString());
        Process process = builder.start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return new Result(process.exitValue(), Files.readString(out, UTF_8), Files.readString(err, UTF_8));
    }
}
