/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.catalog.MapChange;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.AccountShards;

/** {@code shardflake console --allow-changes} over HTTP. By keyboard in a browser: ConsoleIT. */
class ConsoleChangesTest {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String ORIGIN = "from the console of " + System.getProperty("user.name");
    private static final String[] CHANGE = {"Shardflake-Change", "1"};

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final HttpClient client = HttpClient.newHttpClient();
    private AccountShards shards;
    private RunningConsole console;
    private String cookie;

    @BeforeEach
    void start() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, 8, directory);
        open(RunningConsole.startWithChanges(shards.environment()));
    }

    private void open(RunningConsole started) throws Exception {
        console = started;
        cookie = client.send(HttpRequest.newBuilder(URI.create(console.url())).build(), BodyHandlers.ofString())
                .headers()
                .firstValue("Set-Cookie")
                .orElseThrow()
                .replaceFirst(";.*", "");
    }

    @AfterEach
    void stop() throws Exception {
        console.close();
    }

    private void launch(String... command) {
        Cli.Result result = Cli.launch(InputStream.nullInputStream(), shards.environment(), command);
        assertThat(result.exitCode()).as(result.toString()).isZero();
    }

    private String origin() {
        return "http://127.0.0.1:%s".formatted(console.port());
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(console.url().replaceFirst("/\\?.*", "") + path))
                .timeout(PATIENCE);
    }

    /** Sends what the page would. */
    private HttpResponse<String> post(String path, String body) throws Exception {
        return post(path, body, "Cookie", cookie, "Origin", origin(), "Sec-Fetch-Site", "same-origin", CHANGE[0], "1");
    }

    private HttpResponse<String> post(String path, String body, String... headers) throws Exception {
        return client.send(
                request(path)
                        .POST(BodyPublishers.ofString(body))
                        .headers(headers)
                        .build(),
                BodyHandlers.ofString());
    }

    private JsonNode tryOut(String command) throws Exception {
        HttpResponse<String> tried = post("/try", offer(command));
        assertThat(tried.statusCode()).as(tried.body()).isEqualTo(200);
        return JSON.readTree(tried.body());
    }

    private HttpResponse<String> run(JsonNode shown, String answer) throws Exception {
        return post("/run", shown.get("number").asText() + "\n" + answer);
    }

    /** The number under which the page is offered a command, once it is. */
    private String offer(String command) throws Exception {
        return part("offers", offers -> offers.has(command)).get(command).asText();
    }

    /** How a change that was begun ended. */
    private JsonNode ended(HttpResponse<String> begun) throws Exception {
        assertThat(begun.statusCode()).as(begun.body()).isEqualTo(202);
        long number = JSON.readTree(begun.body()).get("change").asLong();
        return part(
                "change",
                change -> change.get("change").asLong() == number
                        && change.get("state").asText().equals("ended"));
    }

    /** What the stream of events says of a part of the page, as soon as it is so. */
    private JsonNode part(String part, Predicate<JsonNode> condition) {
        return await(part).atMost(PATIENCE).until(() -> next(part, condition), Predicate.not(JsonNode::isMissingNode));
    }

    /** The same from one stream, which ends after a time. */
    private JsonNode next(String part, Predicate<JsonNode> condition) throws Exception {
        HttpRequest events = request("/events").header("Cookie", cookie).build();
        try (Stream<String> lines = client.send(events, BodyHandlers.ofLines()).body()) {
            List<String> event = new ArrayList<>(List.of(""));
            return lines.map(line -> {
                        if (line.startsWith("event: ")) {
                            event.set(0, line.substring(7));
                        }
                        return line.startsWith("data: ") && event.get(0).equals(part)
                                ? parse(line.substring(6))
                                : JSON.missingNode();
                    })
                    .filter(facts -> !facts.isMissingNode() && condition.test(facts))
                    .findFirst()
                    .orElse(JSON.missingNode());
        }
    }

    private static JsonNode parse(String json) {
        try {
            return JSON.readTree(json);
        } catch (Exception e) {
            throw new AssertionError(json, e);
        }
    }

    private List<String> history() {
        return shards.catalog().history(100).stream()
                .map(change -> change.change() + ": " + change.reason())
                .toList();
    }

    private String state() throws Exception {
        return "%s, %s moves, %s switched, %s"
                .formatted(
                        shards.catalog().load(),
                        shards.catalogNumber("SELECT count(*) FROM shardflake_catalog.move"),
                        shards.catalogNumber(
                                "SELECT count(*) FROM shardflake_catalog.move_shard WHERE phase = 'switched'"),
                        history());
    }

    /** A move, from the shards that are copied to its end. */
    @Test
    void whatIsOfferedIsShownAndAgreedToBeforeItRuns() throws Exception {
        launch("move", "start", "--shards=2-3", "--to=db2");
        JsonNode shown = tryOut("shardflake move cutover 1");
        assertThat(shown.get("tried").asText()).isEqualTo("shardflake move cutover 1 --dry-run");
        assertThat(shown.get("output").asText())
                .isEqualTo("dry run: nothing was changed\nwould cut over 2 shards of move 1: 2,3\n");
        assertThat(shown.get("question").asText()).isEmpty();
        assertThat(shards.catalog().load().server(2).name()).isEqualTo("db1");

        JsonNode cutOver = ended(run(shown, ""));
        assertThat(cutOver.get("exitCode").asInt()).as(cutOver.toString()).isZero();
        assertThat(cutOver.get("meaning").asText()).isEqualTo("done, and the copies are equal");
        assertThat(cutOver.get("output").asText()).contains("cut over 2 shards; write pause: median ");
        assertThat(shards.catalog().load().server(2).name()).isEqualTo("db2");
        assertThat(history())
                .startsWith(
                        "command run: shardflake move cutover 1: ended with exit code 0, " + ORIGIN,
                        "shard placed: move 1, " + ORIGIN,
                        "shard placed: move 1, " + ORIGIN,
                        "command run: shardflake move cutover 1, " + ORIGIN,
                        "move started: move 1, 2 shards");

        JsonNode end = tryOut("shardflake move complete 1");
        assertThat(end.get("question").asText())
                .isEqualTo("complete move 1 and remove the copies of 2 shards on db1? [y/N]");
        HttpResponse<String> no = run(end, "n");
        assertThat(no.statusCode()).isEqualTo(400);
        assertThat(no.body()).contains("not confirmed; nothing was changed");
        assertThat(shards.catalogNumber("SELECT count(*) FROM shardflake_catalog.move"))
                .isOne();
        JsonNode completed = ended(run(end, "y"));
        assertThat(completed.get("output").asText()).endsWith("completed move 1 of 2 shards from db1 to db2\n");
        assertThat(shards.catalogNumber("SELECT count(*) FROM shardflake_catalog.move"))
                .isZero();
        assertThat(history())
                .startsWith(
                        "command run: shardflake move complete 1: ended with exit code 0, " + ORIGIN,
                        "move completed: move 1, 2 shards, " + ORIGIN,
                        "command run: shardflake move complete 1, " + ORIGIN);
        assertThat(shards.catalog().history(3)).extracting(MapChange::user).doesNotContain("");
        part("offers", JsonNode::isEmpty);
        assertThat(console.told())
                .isEqualTo("anyone with this address can change the installation until the console ends\n");
    }

    @Test
    void whatDoctorFindsIsFixed() throws Exception {
        shards.execute("db1", "SELECT shardflake.fence_shard(5)");
        post("/examine", "");
        JsonNode shown = tryOut("shardflake doctor --fix");
        assertThat(shown.get("tried").asText()).isEmpty();
        assertThat(shown.get("output").asText()).isEmpty();

        JsonNode fixed = ended(run(shown, ""));

        assertThat(fixed.get("output").asText()).contains("fixed", "shard-closed");
        assertThat(shards.number("db1", "SELECT shardflake.is_fenced(5)::integer"))
                .isZero();
        assertThat(history())
                .startsWith(
                        "command run: shardflake doctor --fix: ended with exit code 0, " + ORIGIN,
                        "command run: shardflake doctor --fix, " + ORIGIN);
    }

    @Test
    @Tag("full")
    void whatDoesNotComeFromThePageIsRefused() throws Exception {
        launch("move", "start", "--shards=2-3", "--to=db2");
        JsonNode shown = tryOut("shardflake move cutover 1");
        String body = shown.get("number").asText() + "\n";
        String before = state();

        for (String[] headers : new String[][] {
            {"Cookie", cookie, CHANGE[0], "1"},
            {"Cookie", cookie, CHANGE[0], "1", "Sec-Fetch-Site", "same-origin"},
            {"Cookie", cookie, CHANGE[0], "1", "Origin", "http://evil.example"},
            {"Cookie", cookie, CHANGE[0], "1", "Origin", "null"},
            {"Cookie", cookie, CHANGE[0], "1", "Origin", "http://localhost:1"},
            {"Cookie", cookie, CHANGE[0], "1", "Origin", origin(), "Sec-Fetch-Site", "cross-site"},
            {"Cookie", cookie, CHANGE[0], "1", "Origin", origin(), "Sec-Fetch-Site", "none"},
            {"Cookie", cookie, "Origin", origin()},
            {CHANGE[0], "1", "Origin", origin()},
        }) {
            assertThat(post("/run", body, headers).statusCode())
                    .as(String.join(" ", headers))
                    .isEqualTo(403);
            assertThat(post("/try", offer("shardflake move cutover 1"), headers).statusCode())
                    .as(String.join(" ", headers))
                    .isEqualTo(403);
        }
        HttpRequest.Builder get = request("/run?" + body.strip()).headers("Cookie", cookie, CHANGE[0], "1");
        assertThat(client.send(get.build(), BodyHandlers.ofString()).statusCode())
                .isEqualTo(405);
        assertThat(post("/run", "x".repeat(300)).statusCode()).isEqualTo(413);
        assertThat(post("/try", "shardflake move cutover 1").statusCode()).isEqualTo(409);
        assertThat(post("/run", "0".repeat(32) + "\n").statusCode()).isEqualTo(403);
        assertThat(state()).isEqualTo(before);
    }

    @Test
    @Tag("full")
    void whatWasShownIsGoodOnceAndOnlyWhileItHolds() throws Exception {
        launch("move", "start", "--shards=2-4", "--to=db2");
        JsonNode shown = tryOut("shardflake move cutover 1");
        JsonNode given = tryOut("shardflake move cancel 1");
        launch("move", "cutover", "1", "--shards=2");
        String before = state();

        HttpResponse<String> stale = run(shown, "");
        assertThat(stale.statusCode()).isEqualTo(409);
        JsonNode answer = JSON.readTree(stale.body());
        assertThat(answer.get("problem").asText()).contains("things have changed", "nothing was done");
        // A page that was refreshed in the middle of the cutover has withdrawn the command, and offers it under another
        // number.
        JsonNode current = answer.has("number") ? answer : tryOut("shardflake move cutover 1");
        assertThat(current.get("output").asText()).endsWith("would cut over 2 shards of move 1: 3,4\n");
        assertThat(run(shown, "").statusCode()).isEqualTo(403);
        assertThat(run(given, "y").statusCode()).isEqualTo(409);
        assertThat(state()).isEqualTo(before);

        assertThat(ended(run(current, "")).get("exitCode").asInt()).isZero();
        before = state();
        assertThat(run(current, "").statusCode()).isEqualTo(403);
        assertThat(state()).isEqualTo(before);
    }

    /** The first waits for a lock, so that it still runs when the second comes. */
    @Test
    @Tag("full")
    void oneChangeRunsAtATime() throws Exception {
        launch("move", "start", "--shards=2-3", "--to=db2");
        JsonNode first = tryOut("shardflake move cutover 1");
        JsonNode second = tryOut("shardflake move cutover 1");
        try (Connection busy = shards.catalogUrl().connect("a test");
                Statement statement = busy.createStatement()) {
            busy.setAutoCommit(false);
            statement.execute("LOCK TABLE shardflake_catalog.shard IN SHARE ROW EXCLUSIVE MODE");
            HttpResponse<String> begun = run(first, "");
            assertThat(begun.statusCode()).as(begun.body()).isEqualTo(202);

            HttpResponse<String> refused = run(second, "");

            assertThat(refused.statusCode()).isEqualTo(409);
            assertThat(refused.body()).contains("another change is running; nothing was changed");
            busy.rollback();
            assertThat(ended(begun).get("exitCode").asInt()).isZero();
        }
    }

    /** It waits for a lock; the page asks again with the number that it is given, until the answer is there. */
    @Test
    @Tag("full")
    void aTrialMayTakeLongerThanAnAnswer() throws Exception {
        launch("move", "start", "--shards=2-3", "--to=db2");
        String offer = offer("shardflake move cutover 1");
        String ticket;
        try (Connection busy = shards.catalogUrl().connect("a test");
                Statement statement = busy.createStatement()) {
            busy.setAutoCommit(false);
            statement.execute("LOCK TABLE shardflake_catalog.move IN ACCESS EXCLUSIVE MODE");
            ticket = JSON.readTree(post("/try", offer).body()).get("wait").asText();
            busy.rollback();
        }

        JsonNode shown = JSON.readTree(post("/wait", ticket).body());

        assertThat(shown.get("output").asText()).endsWith("would cut over 2 shards of move 1: 2,3\n");
        assertThat(post("/wait", ticket).statusCode()).isEqualTo(403);
    }

    /** As Ctrl-C does where a command runs in a terminal. */
    @Test
    @Tag("full")
    void aChangeEndsWithTheConsole() throws Exception {
        launch("move", "start", "--shards=2-3", "--to=db2");
        JsonNode shown = tryOut("shardflake move cutover 1");
        try (Connection busy = shards.catalogUrl().connect("a test");
                Statement statement = busy.createStatement()) {
            busy.setAutoCommit(false);
            statement.execute("LOCK TABLE shardflake_catalog.shard IN SHARE ROW EXCLUSIVE MODE");
            assertThat(run(shown, "").statusCode()).isEqualTo(202);
            console.close();
            await().atMost(PATIENCE).until(() -> changes().isEmpty());
        }

        assertThat(history()).contains("command run: shardflake move cutover 1, " + ORIGIN);
        assertThat(shards.catalog().load().server(2).name()).isEqualTo("db1");
        launch("move", "cutover", "1");
        assertThat(shards.catalog().load().server(2).name()).isEqualTo("db2");
    }

    private static List<Thread> changes() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("shardflake console: change"))
                .toList();
    }

    @Test
    void withoutTheOptionNothingIsOffered() throws Exception {
        console.close();
        open(RunningConsole.start(shards.environment()));
        launch("move", "start", "--shards=2-3", "--to=db2");
        part("moves", moves -> moves.at("/0/phase").asText().equals("following"));
        String before = state();

        for (String path : List.of("/try", "/run", "/wait")) {
            HttpResponse<String> refused = post(path, "0".repeat(32));
            assertThat(refused.statusCode()).isEqualTo(403);
            assertThat(refused.body())
                    .isEqualTo("this console changes nothing; shardflake console --allow-changes does\n");
        }
        assertThat(state()).isEqualTo(before);
    }

    @Test
    void anOlderCatalogIsRefused() throws Exception {
        console.close();
        shards.executeInCatalog(
                "CREATE OR REPLACE FUNCTION shardflake_catalog.catalog_version() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 3");

        Cli.Result refused = Cli.launch(
                InputStream.nullInputStream(), shards.environment(), "console", "--allow-changes", "--listen=0");

        assertThat(refused.exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err()).isEqualTo("""
                error: the catalog is of an older version, whose history cannot record commands of a console
                hint: bring it up to date with shardflake upgrade, or leave out --allow-changes
                """);
    }
}
