/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import org.openqa.selenium.Keys;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.server.ServerUrl;

/**
 * The console in Chromium, with 2,000 shards in four databases of two servers. How fast it is goes to {@code target/console.txt}; with
 * {@code -Dguide.update} the pictures of the guide are made.
 */
@Tag("full")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ConsoleIT {

    private static final Path PICTURES = Path.of(Boolean.getBoolean("guide.update") ? "../src/docs/guide" : "target");
    private static final Path FIGURES = Path.of("target/console.txt");
    private static final String TABLE =
            "--liquibase formatted sql\n--changeset ann:note\nCREATE TABLE note (id bigint PRIMARY KEY, text text);\n";

    @TempDir
    static Path directory;

    private static Browser browser;
    private static PostgresCluster cluster;
    private static NoteShards shards;
    private static RunningConsole console;

    @BeforeAll
    static void create() throws Exception {
        browser = Browser.open(ConsoleIT.class);
        cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(2)
                .start();
        Map<String, String> urls = new LinkedHashMap<>();
        List<String> init = new ArrayList<>(List.of("init", "--shards=2000"));
        for (int i = 0; i < 4; i++) {
            String database = "app" + (i / 2 + 1);
            NoteShards.execute(cluster.server(i % 2), "CREATE DATABASE " + database);
            urls.put("db" + (i + 1), cluster.server(i % 2).uri(database));
            init.add("--server=db%s=%s".formatted(i + 1, cluster.server(i % 2).uri(database)));
        }
        shards = new NoteShards(Objects.requireNonNull(urls.get("db1")), urls);
        shards.succeed(init.toArray(String[]::new));
        Path changelog = Files.writeString(directory.resolve("notes.sql"), TABLE);
        shards.succeed("schema", "deploy", "--no-checks", "--changelog=" + changelog);
        Files.deleteIfExists(FIGURES);
        console = RunningConsole.start(Map.of("SHARDFLAKE_CATALOG", shards.catalog()));
    }

    @AfterAll
    static void stop() throws Exception {
        if (console != null) {
            console.close();
        }
        if (cluster != null) {
            cluster.close();
        }
        if (browser != null) {
            browser.close();
        }
    }

    private static void visit() {
        browser.resize(1440, 1000);
        browser.visit(console.url());
        browser.awaitTrue(
                "return performance.getEntriesByName('map drawn').length === 1 && latest.moves !== undefined");
    }

    private static void figure(String line) throws IOException {
        System.out.println("console: " + line);
        Files.writeString(FIGURES, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    @Test
    @Order(1)
    void thePageIsThereAtOnce() throws Exception {
        List<Long> painted = new ArrayList<>();
        List<Long> drawn = new ArrayList<>();
        for (int i = 0; i < 7; i++) {
            visit();
            painted.add(browser.number("return performance.getEntriesByName('first-contentful-paint')[0].startTime"));
            drawn.add(browser.number("return performance.getEntriesByName('map drawn')[0].startTime"));
        }
        assertThat(browser.number("return document.querySelectorAll('.cells i').length"))
                .isEqualTo(2000);
        assertThat(browser.run("return location.href")).asString().doesNotContain("token");
        painted.sort(null);
        drawn.sort(null);
        figure("first paint after %s ms at best, %s in the median, %s at worst"
                .formatted(painted.get(0), painted.get(3), painted.get(6)));
        figure("2,000 shards drawn after %s ms at best, %s in the median, %s at worst"
                .formatted(drawn.get(0), drawn.get(3), drawn.get(6)));
    }

    @Test
    @Order(2)
    void aShardIsFoundByTypingAndByKeys() {
        visit();
        browser.find("#what").sendKeys("shard_0777" + Keys.ENTER);
        browser.awaitTrue("return document.querySelector('#readings')?.textContent.includes('shard_0777')");
        assertThat(browser.text("#readings")).contains("db2", "open");
        assertThat(browser.run("return document.activeElement.id")).isEqualTo("found-title");
        assertThat(browser.run("return document.querySelector('#s777').className"))
                .asString()
                .contains("chosen");

        browser.run("document.querySelectorAll('.cells')[2].focus({ focusVisible: true })");
        browser.find(".server:nth-child(3) .cells").sendKeys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER);
        browser.awaitTrue("return document.querySelector('#readings').textContent.includes('shard_1002')");
        assertThat(browser.text("#hint")).startsWith("shard 1002 on db3, open");
        assertThat(browser.run("return document.querySelectorAll('.cells')[2].getAttribute('aria-activedescendant')"))
                .isEqualTo("s1002");

        browser.find("#what").clear();
        browser.find("#what").sendKeys("<img src=/nothing>" + Keys.ENTER);
        browser.awaitTrue("return document.querySelector('#found-title').textContent === '<img src=/nothing>'");
        assertThat(browser.number("return document.images.length")).isZero();
        browser.find("#close").click();
        assertThat(browser.find("#found").isDisplayed()).isFalse();
    }

    @Test
    @Order(3)
    void aMoveOf100ShardsIsShownWhileItRuns() throws Exception {
        execute(
                "db1",
                "DO $$ BEGIN FOR n IN 40..139 LOOP EXECUTE format('INSERT INTO shard_%s.note SELECT i, repeat(''x'', 200) FROM generate_series(1, 10 + %s %% 7 * 100) i', lpad(n::text, 4, '0'), n); END LOOP; END $$");
        visit();
        browser.run(
                "window.times = []; (function next(time) { times.push(time); requestAnimationFrame(next); })(performance.now())");
        shards.succeed("move", "start", "--shards=40-139", "--to=db4");
        browser.awaitTrue("return document.querySelectorAll('.cells i.copied').length === 100");
        String copy = "[aria-label='Copy shardflake move cutover 1']";
        browser.awaitTrue("return document.querySelector(arguments[0]) !== null", copy);
        browser.run("document.querySelector(arguments[0]).focus()", copy);
        execute("db1", "UPDATE shardflake_catalog.move SET reason = '<img src=/nothing> & co'");
        browser.awaitTrue("return document.querySelector('#moves').textContent.includes('<img src=/nothing> & co')");
        assertThat(browser.run("return document.activeElement.matches(arguments[0])", copy))
                .as("focus")
                .isEqualTo(true);
        shards.succeed("move", "cutover", "1", "--shards=40-99", "--patience=1m");
        browser.awaitTrue("return document.querySelectorAll('.server:nth-child(4) .cells i.switched').length === 60");
        frames("a move of 100 shards is copied and 60 are cut over");
        assertThat(browser.number("return document.images.length")).isZero();
        assertThat(browser.text("#moves"))
                .contains("60 of 100", "write pauses of 60 cutovers", "shardflake move cutover 1");
        assertThat(browser.complaints()).isEmpty();
    }

    private static void execute(String server, String sql) throws Exception {
        try (Connection connection = ServerUrl.parse(
                                Objects.requireNonNull(shards.urls().get(server)))
                        .connect("a test");
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static String query(String server, String sql) throws Exception {
        try (Connection connection = ServerUrl.parse(
                        Objects.requireNonNull(shards.urls().get(server)))
                .connect("a test")) {
            return NoteShards.query(connection, sql);
        }
    }

    private static void frames(String meanwhile) throws Exception {
        Object figures = browser.run("""
                const gaps = times.slice(1).map((time, i) => time - times[i]).sort((one, other) => one - other);
                return [(1000 * gaps.length / (times[times.length - 1] - times[0])).toFixed(1), gaps[Math.floor(gaps.length * .99)].toFixed(0), gaps[gaps.length - 1].toFixed(0)];
                """);
        List<?> all = (List<?>) figures;
        figure("%s frames a second while %s; one frame of 100 took more than %s ms, the longest %s ms"
                .formatted(all.get(0), meanwhile, all.get(1), all.get(2)));
    }

    /** In each update, 100 shards go to another server, ten times a second; then as many as come in a day. */
    @Test
    @Order(4)
    void updatesAreSmoothAndLeaveNothing() throws Exception {
        visit();
        browser.run(
                "disconnect(); window.update = n => { const homes = latest.shards.homes.map((home, shard) => shard % 20 === 7 ? n % 4 : home); heard('shards', { ...latest.shards, homes }); heard('now', { ...latest.now, at: new Date(Date.now() + 1000 * n).toISOString() }); }");
        browser.run(
                "window.times = []; let n = 0; const end = performance.now() + 3000; (function next(time) { times.push(time); if (time > n * 100) update(n++); if (time < end) requestAnimationFrame(next); else window.isDone = true; })(performance.now())");
        browser.awaitTrue("return window.isDone === true");
        frames("100 of 2,000 shards change their server ten times a second");

        String many = "for (let n = 0; n < arguments[0]; n++) { update(n); draw(); }";
        browser.run(many, 200);
        long micros = browser.number(
                "const began = performance.now(); for (let n = 0; n < 100; n++) { update(n); draw(); document.body.offsetHeight; } return 10 * (performance.now() - began)");
        figure(String.format(Locale.ROOT, "%.1f ms for each such update, layout included", micros / 1000.0));
        long before = browser.heap();
        browser.run(many, 2000);
        long after = browser.heap();
        figure(String.format(
                Locale.ROOT,
                "%,d KiB in use after 200 updates, %,d KiB after 2,000 more",
                before / 1024,
                after / 1024));
        assertThat(after).isLessThan(before + before / 5);

        List<Long> heap = new ArrayList<>();
        long began = System.nanoTime();
        for (int hour = 0; hour < 24; hour++) {
            browser.run(many, 3600);
            heap.add(browser.heap());
        }
        figure(String.format(
                Locale.ROOT,
                "%,d KiB in use after the 3,600 updates of an hour, %,d after 12 hours, %,d after 24; which took %s s",
                heap.get(0) / 1024,
                heap.get(11) / 1024,
                heap.get(23) / 1024,
                (System.nanoTime() - began) / 1_000_000_000));
        assertThat(heap.get(23)).isLessThan(heap.get(0) + heap.get(0) / 5);
        assertThat(heap.get(23)).as("the second half of %s", heap).isLessThan(heap.get(11) + heap.get(11) / 20);
    }

    @Test
    @Order(5)
    void itSuitsEverybody() throws Exception {
        try {
            execute("db1", "UPDATE shardflake_catalog.move SET reason = 'room on db1'");
            execute("db4", "SELECT shardflake.fence_shard(1600)");
            execute("db3", "ALTER TABLE shard_1003.note ADD likes integer");
            visit();
            browser.find("#examine").click();
            browser.awaitTrue("return (latest.doctor?.findings || []).some(each => each.check === 'shard-closed')");
            browser.awaitTrue("return !$('compare').disabled");
            long began = System.nanoTime();
            browser.find("#compare").click();
            browser.awaitTrue(
                    "return $('schemas-summary').textContent === '1 shard differs from most others' && !$('compare').disabled");
            figure(String.format(
                    Locale.ROOT,
                    "the schemas of 2,000 shards are compared after %,d ms",
                    (System.nanoTime() - began) / 1_000_000));
            assertThat(browser.text("#drifts")).contains("shard 1003 on db3", "likes");
            browser.run("find('11637205501278089', false)");
            browser.awaitTrue("return document.querySelectorAll('#readings article').length > 0");
            assertSuitsEverybody();
            browser.run("scrollTo(0, 0)");
            pictures();
        } finally {
            execute("db4", "SELECT shardflake.unfence_shard(1600)");
            execute("db3", "ALTER TABLE shard_1003.note DROP COLUMN IF EXISTS likes");
        }
    }

    @Test
    @Order(6)
    void aPageOfAnEarlierStartSaysSo() throws Exception {
        visit();
        int port = console.port();
        console.close();
        console = RunningConsole.start(Map.of("SHARDFLAKE_CATALOG", shards.catalog()), port);
        browser.awaitTrue("return $('connection').textContent === 'open the address that was printed last'");
        visit();
        browser.awaitTrue("return $('connection').textContent.startsWith('live')");
    }

    @Test
    @Order(7)
    void commandsAreRunByKeyboard() throws Exception {
        shards.succeed("move", "start", "--shards=210-211", "--to=db3");
        String move = query("db1", "SELECT max(id) FROM shardflake_catalog.move");
        console.close();
        console = RunningConsole.startWithChanges(Map.of("SHARDFLAKE_CATALOG", shards.catalog()));
        visit();

        open("shardflake move cutover " + move);
        assertThat(browser.text("#dialog-output"))
                .endsWith("would cut over 2 shards of move %s: 210,211\n".formatted(move));
        assertSuitsEverybody();
        browser.tabTo("#run");
        browser.type(Keys.ENTER);
        browser.awaitTrue("return $('dialog-state').textContent === 'ended: done, and the copies are equal'");
        assertThat(browser.isFocused("#cancel")).isTrue();
        browser.type(Keys.ESCAPE);
        browser.awaitTrue("return !$('dialog').open && document.activeElement !== document.body");

        open("shardflake move complete " + move);
        assertThat(browser.text("#dialog-question"))
                .isEqualTo("complete move %s and remove the copies of 2 shards on db1? [y/N]".formatted(move));
        assertThat(browser.isFocused("#answer")).isTrue();
        assertSuitsEverybody();
        browser.scheme("light");
        browser.picture(PICTURES.resolve("console-run.png"));
        browser.resize(390, 844);
        browser.picture(Path.of("target/console-dialog-phone.png"));
        browser.type("n", Keys.ENTER);
        browser.awaitTrue("return $('dialog-state').textContent === 'not confirmed; nothing was changed'");
        browser.type(Keys.BACK_SPACE, "y", Keys.ENTER);
        browser.awaitTrue("return $('dialog-state').textContent.startsWith('ended: done')");
        assertThat(browser.text("#dialog-output"))
                .contains("completed move %s of 2 shards from db1 to db3".formatted(move));
        browser.type(Keys.ENTER);
        browser.awaitTrue("return !$('dialog').open && document.activeElement !== document.body");
        assertThat(browser.text("#changing")).contains("shardflake move complete " + move, "ended: done");
        assertThat(browser.complaints()).noneMatch(complaint -> complaint.contains("Content Security Policy"));
    }

    /** The dialog of a command, once it shows what the command would do. */
    private static void open(String command) {
        String run = "[aria-label='Run %s']".formatted(command);
        browser.awaitTrue("return document.querySelector(arguments[0]) !== null", run);
        browser.tabTo(run);
        browser.type(Keys.ENTER);
        browser.awaitTrue("return $('dialog').open && !$('run').disabled");
    }

    private static void assertSuitsEverybody() {
        for (String scheme : List.of("light", "dark")) {
            browser.scheme(scheme);
            for (int width : List.of(390, 1440)) {
                browser.resize(width, 1000);
                assertThat(browser.axe()).as("%s, %s", scheme, width).isEqualTo(List.of());
                assertThat(browser.number("return document.documentElement.scrollWidth"))
                        .isLessThanOrEqualTo(width);
                assertThat(browser.number("""
                        const least = arguments[0] < 600 ? 44 : 24;
                        return [...document.querySelectorAll('button, input:not([type=radio]), fieldset label')].map(each => each.getBoundingClientRect())
                          .filter(box => box.width > 0 && (box.height < least || box.left < 0 || box.right > arguments[0])).length""", width)).isZero();
            }
        }
    }

    private static void pictures() throws Exception {
        browser.resize(1440, 1000);
        browser.scheme("light");
        browser.picture(PICTURES.resolve("console.png"));
        browser.scheme("dark");
        browser.find("#close").click();
        browser.resize(390, 844);
        browser.run("scrollTo(0, 0)");
        browser.picture(PICTURES.resolve("console-phone.png"));
        browser.run("document.querySelector('#schemas').scrollIntoView()");
        browser.picture(Path.of("target/console-schemas.png"));
    }
}
