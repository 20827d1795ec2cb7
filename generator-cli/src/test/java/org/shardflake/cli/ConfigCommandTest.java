/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.config.Settings;

/** Flag, environment, shardflake.yaml, local cluster: in this order. */
class ConfigCommandTest {

    @TempDir
    Path directory;

    private final Map<String, String> environment = new HashMap<>();
    private Path file;

    @BeforeEach
    void noLocalCluster() {
        file = directory.resolve("shardflake.yaml");
        environment.put("SHARDFLAKE_LOCAL", directory.resolve("local").toString());
    }

    private Result launch(String... args) {
        return Cli.launch(InputStream.nullInputStream(), environment, args);
    }

    private void write(String yaml) throws IOException {
        Files.writeString(file, yaml);
        environment.put("SHARDFLAKE_CONFIG", file.toString());
    }

    @Test
    void saysWhereEachValueIsFromAndHidesThePassword() throws IOException {
        write("catalog: postgresql://app:geheim@db1/app\npatience: 1m\n");
        environment.put("SHARDFLAKE_PATIENCE", "2m");

        Result config = launch("config");

        assertThat(config.exitCode()).as(config.toString()).isZero();
        assertThat(config.out())
                .containsPattern("catalog +postgresql://app@db1:5432/app +" + file)
                .containsPattern("patience +2m +environment variable SHARDFLAKE_PATIENCE")
                .doesNotContain("geheim");
        assertThat(launch("config", "--catalog=postgresql://x:geheim@db9/app", "-o", "json")
                        .out())
                .contains(
                        "{\"name\":\"catalog\",\"value\":\"postgresql://x@db9:5432/app\",\"origin\":\"command line\"}");
    }

    @Test
    void libpqsVariablesComeLast() throws IOException {
        environment.put("PGHOST", "db7");
        environment.put("PGPORT", "5433");
        environment.put("PGUSER", "app");
        environment.put("PGDATABASE", "sharded app");
        environment.put("PGPASSWORD", "geheim");

        assertThat(launch("config").out())
                .containsPattern("catalog +postgresql://app@db7:5433/sharded app +PGSERVICE, PGHOST and others")
                .doesNotContain("geheim");
        write("catalog: postgresql://app@db1/app\n");
        assertThat(launch("config").out()).containsPattern("catalog +postgresql://app@db1:5432/app +" + file);
    }

    @Test
    void theEpochOfIdsCanBeSet() throws IOException {
        write("epoch: 1293840000000\n");

        assertThat(launch("id", "decode", "11637205501278089").out()).contains("  2011-01-17T01:21:03Z  ");
        assertThat(launch("id", "decode", "11637205501278089", "--epoch=2025-01-01T00:00:00Z")
                        .out())
                .contains("  2025-01-17T01:21:03Z  ");
    }

    /** The ids would be shown with times that are wrong by years. */
    @Test
    void anEpochThatOnlyTheCatalogKnowsIsNotGuessed() throws IOException {
        write("catalog: postgresql://localhost:1/x\n");

        Result decode = launch("id", "decode", "5");

        assertThat(decode.exitCode()).isEqualTo(1);
        assertThat(decode.out()).isEmpty();
        assertThat(decode.err())
                .startsWith("error: the catalog has the epoch of the ids, but cannot be reached: ")
                .contains("\nhint: give the epoch, such as --epoch 2025-01-01T00:00:00Z");
    }

    @Test
    void aFileThatIsNotUtf8IsRefused() throws IOException {
        Files.write(file, "catalog: postgresql://app@db1/Zürich\n".getBytes(StandardCharsets.ISO_8859_1));
        environment.put("SHARDFLAKE_CONFIG", file.toString());

        assertThat(launch("map", "show"))
                .isEqualTo(new Result(
                        2,
                        "",
                        "error: cannot read %s: it is not UTF-8; convert it, for example with iconv -t UTF-8\n"
                                .formatted(file)));
    }

    @Test
    void yamlThatIsNestedWithoutEndIsRefused() throws IOException {
        write("[".repeat(100_000));

        Result show = launch("map", "show");

        assertThat(show.exitCode()).isEqualTo(2);
        assertThat(show.err()).isEqualTo("error: %s: it is nested too deeply to be read\n".formatted(file));
    }

    @Test
    void nothing() {
        environment.remove("SHARDFLAKE_LOCAL");
        assertThat(launch("config").out()).startsWith("nothing is set; set one of catalog, local, output, ");
    }

    @Test
    void aSettingIsTheDefaultOfItsOption() throws IOException {
        write("output: json\n");

        assertThat(launch("id", "encode", "--time=2026-11-20T12:00:00Z", "--shard=7", "--sequence=0")
                        .out())
                .startsWith("{\"id\":\"499008090931207168\"");
        assertThat(launch("id", "encode", "--time=2026-11-20T12:00:00Z", "--shard=7", "--sequence=0", "-o", "table")
                        .out())
                .isEqualTo("499008090931207168\n");
        environment.put("SHARDFLAKE_OUTPUT", "yaml");
        assertThat(launch("id", "encode", "--time=2026-11-20T12:00:00Z", "--shard=7", "--sequence=0")
                        .out())
                .startsWith("id: ");
    }

    @Test
    void aChangelogThatIsSetNeedNotBeGiven() throws IOException {
        write("changelog: none.sql\n");

        Result deploy = launch("schema", "deploy", "--catalog=postgresql://localhost:1/x");

        assertThat(deploy.err()).as(deploy.toString()).startsWith("error: cannot connect to catalog ");
    }

    @Test
    void whatIsNoSettingIsNamed() throws IOException {
        write("catalogue: x\n");
        assertThat(launch("map", "show").err())
                .startsWith("error: %s has catalogue, which is not a setting; settings are catalog, ".formatted(file));
        write("output: [json]\n");
        assertThat(launch("map", "show").err()).isEqualTo("error: %s: output takes one value\n".formatted(file));
        write("just text\n");
        assertThat(launch("map", "show").err()).startsWith("error: %s has to be a list of names".formatted(file));
        write("a: [\n");
        assertThat(launch("map", "show").err()).startsWith("error: %s: it is not YAML: ".formatted(file));
        environment.put("SHARDFLAKE_CONFIG", "nowhere.yaml");
        Result nowhere = launch("map", "show");
        assertThat(nowhere)
                .isEqualTo(new Result(2, "", "error: SHARDFLAKE_CONFIG names nowhere.yaml, which does not exist\n"));
        write("output: xml\n");
        assertThat(launch("map", "show").err()).contains("'xml' is not one of table, json, yaml");
    }

    @Test
    void everySettingIsAnOptionOfSomeCommand() {
        TreeSet<String> left = new TreeSet<>(Settings.NAMES);
        for (String command : List.of("schema deploy", "move run", "local start", "id convert", "id decode")) {
            String help = launch((command + " --help").split(" ")).out();
            left.removeIf(name -> help.contains("--" + name));
        }
        assertThat(left).isEmpty();
    }
}
