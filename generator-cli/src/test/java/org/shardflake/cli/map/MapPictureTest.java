/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.map;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.cluster.NeededPrograms;
import org.shardflake.load.ShardRate;

class MapPictureTest {

    private static final ShardMap MAP = ShardMap.initial(
            new Sharding(120),
            IdLayout.DEFAULT,
            List.of(server("db1"), server("db2"), new Server("db3", "postgresql://db3/</script><b>", Map.of())),
            Spread.CONTIGUOUS);

    @TempDir
    Path directory;

    private static Server server(String name) {
        return new Server(name, "postgresql://app@%s/app".formatted(name), Map.of());
    }

    private static MapPicture picture() {
        Map<Integer, Long> bytes = new HashMap<>();
        for (int shard = 0; shard < 120; shard++) {
            bytes.put(shard, 1L << 20);
        }
        return new MapPicture(MAP, bytes, Map.of("db1", new ShardRate(1234.4, 2000, 0)), List.of());
    }

    @Test
    void aCellForEachShardWithoutColours() {
        assertThat(MapCells.draw(picture(), false, 80).lines())
                .containsExactly(
                        "    0 " + "a".repeat(40) + "b".repeat(10),
                        "   50 " + "b".repeat(30) + "c".repeat(20),
                        "  100 " + "c".repeat(20),
                        "",
                        "      a db1   b db2   c db3");
        assertThat(MapCells.draw(picture(), false, 120).lines().findFirst().orElseThrow())
                .hasSize(106);
    }

    @Test
    void inColours() {
        assertThat(MapCells.draw(picture(), true, 80))
                .startsWith("    0 \u001b[38;5;33m\u25a0\u001b[0m")
                .contains("\u001b[38;5;208m\u25a0\u001b[0m db2");
    }

    /** What the page's script makes of it, in a browser. */
    @Test
    @Tag("full")
    void thePageInABrowser() throws Exception {
        Optional<String> browser = Stream.of("chromium", "chromium-browser", "google-chrome")
                .filter(MapPictureTest::isOnThePath)
                .findFirst();
        NeededPrograms.assume(browser.isPresent(), "Chromium");
        Path page = Files.writeString(
                directory.resolve("map.html"), MapPage.of(picture(), Instant.parse("2026-11-21T09:00:00Z")));
        Path output = directory.resolve("dom.html");

        Process process = new ProcessBuilder(
                        browser.get(),
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--user-data-dir=" + directory.resolve("profile"),
                        "--dump-dom",
                        page.toUri().toString())
                .redirectOutput(output.toFile())
                .redirectError(directory.resolve("log").toFile())
                .start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        String dom = Files.readString(output, UTF_8);

        assertThat(dom)
                .contains("120 shards on 3 servers; version 1 of the shard map, drawn at 2026-11-21T09:00:00Z")
                .contains("<td class=\"number\">40.0 MiB</td>")
                .contains("<td class=\"number\">1,234</td>")
                .contains("title=\"shard_0041 on db2, 1.0 MiB\"")
                .contains("<td>postgresql://db3/&lt;/script&gt;&lt;b&gt;</td>");
        assertThat(dom.split("data-server=", -1)).hasSize(121);
    }

    private static boolean isOnThePath(String program) {
        return Stream.of(System.getenv("PATH").split(":"))
                .anyMatch(entry -> Files.isExecutable(Path.of(entry, program)));
    }
}
