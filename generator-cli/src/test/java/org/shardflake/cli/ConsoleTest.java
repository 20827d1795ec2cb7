/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.AccountShards;

/** The console over HTTP. What a browser makes of it: ConsoleIT. */
class ConsoleTest {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration PATIENCE = Duration.ofSeconds(60);

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
        console = RunningConsole.start(shards.environment());
        cookie = get(console.url())
                .headers()
                .firstValue("Set-Cookie")
                .orElseThrow()
                .replaceFirst(";.*", "");
    }

    @AfterEach
    void stop() throws Exception {
        console.close();
    }

    private HttpResponse<String> get(String url, String... headers) throws Exception {
        return send(HttpRequest.newBuilder(URI.create(url)), headers);
    }

    private HttpResponse<String> send(HttpRequest.Builder request, String... headers) throws Exception {
        HttpRequest.Builder bounded = request.timeout(PATIENCE);
        return client.send((headers.length == 0 ? bounded : bounded.headers(headers)).build(), BodyHandlers.ofString());
    }

    private String at(String path) {
        return console.url().replaceFirst("/\\?.*", "") + path;
    }

    /** Below which the page is. */
    private String root() {
        return URI.create(at("")).getPath();
    }

    /** The first line of an answer to a request that no client would send. */
    private String status(String... lines) throws Exception {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), console.port())) {
            socket.setSoTimeout((int) PATIENCE.toMillis());
            socket.getOutputStream()
                    .write((String.join("\r\n", lines) + "\r\nConnection: close\r\n\r\n").getBytes(UTF_8));
            return new String(socket.getInputStream().readAllBytes(), UTF_8)
                    .lines()
                    .findFirst()
                    .orElse("");
        }
    }

    @Test
    void thePageIsForWhoHasTheToken() throws Exception {
        assertThat(console.url()).startsWith("http://127.0.0.1:%s/".formatted(console.port()));
        assertThat(get(at("/")).statusCode()).isEqualTo(403);
        assertThat(get(at("/?token=" + "0".repeat(48))).statusCode()).isEqualTo(403);
        HttpResponse<String> page = get(console.url());
        assertThat(page.statusCode()).isEqualTo(200);
        assertThat(page.headers().firstValue("Set-Cookie").orElseThrow())
                .startsWith("shardflake_console_" + root().substring(1) + "=")
                .endsWith("; Path=%s/; HttpOnly; SameSite=Strict".formatted(root()));
        String outside = "http://127.0.0.1:%s/".formatted(console.port());
        assertThat(get(outside, "Cookie", cookie).statusCode()).isEqualTo(403);
        assertThat(get(outside + "?" + URI.create(console.url()).getQuery()).statusCode())
                .isEqualTo(403);
        assertThat(page.headers().firstValue("Content-Security-Policy").orElseThrow())
                .contains("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'")
                .doesNotContain("unsafe", "*");
        assertThat(page.headers().map()).doesNotContainKey("access-control-allow-origin");
        assertThat(page.body()).doesNotContain("style=", "onclick=", "<script>", "<style>", "http://", "https://");
        for (String path :
                List.of("/", "/console.js", "/curves.js", "/uplot.js", "/uplot.css", "/console.css", "/icon.svg")) {
            assertThat(get(at(path)).statusCode()).as(path).isEqualTo(403);
            assertThat(get(at(path), "Cookie", cookie).statusCode()).as(path).isEqualTo(200);
        }
        for (String path : List.of("/compare", "/events", "/room", "/search?q=7", "/nothing")) {
            assertThat(get(at(path)).statusCode()).as(path).isEqualTo(403);
        }
        assertThat(get(at("/nothing"), "Cookie", cookie).statusCode()).isEqualTo(404);
        assertThat(get(at("/room"), "Cookie", cookie).body()).isEqualTo("there is room\n");
        assertThat(get(at("/search?q=7"), "Cookie", cookie.replaceFirst("=.*", "=0"))
                        .statusCode())
                .isEqualTo(403);
    }

    /** As with DNS that gives a name of the attacker's this machine's address. */
    @Test
    void otherNamesOfThisMachineAreRefused() throws Exception {
        for (String host :
                List.of("evil.example", "localhost.evil.example:9719", "127.0.0.1.evil.example", "0.0.0.0")) {
            assertThat(status("GET %s/console.js HTTP/1.1".formatted(root()), "Host: " + host, "Cookie: " + cookie))
                    .as(host)
                    .endsWith("403 Forbidden");
            assertThat(status("GET /metrics HTTP/1.1", "Host: " + host))
                    .as(host)
                    .endsWith("403 Forbidden");
        }
        // The second is at the end of a tunnel.
        for (String host : List.of("localhost:" + console.port(), "localhost:8080", "127.0.0.1", "[::1]:1")) {
            assertThat(status("GET %s/console.js HTTP/1.1".formatted(root()), "Host: " + host, "Cookie: " + cookie))
                    .as(host)
                    .endsWith("200 OK");
        }
    }

    /** More clients than the console answers at a time send the first word of a request. */
    @Test
    void slowRequestsHoldNobodyUp() throws Exception {
        List<Socket> slow = new ArrayList<>();
        try {
            for (int i = 0; i < 50; i++) {
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), console.port());
                slow.add(socket);
                socket.getOutputStream().write("GET ".getBytes(UTF_8));
            }

            assertThat(get(at("/console.js"), "Cookie", cookie).statusCode()).isEqualTo(200);
        } finally {
            for (Socket socket : slow) {
                socket.close();
            }
        }
    }

    @Test
    void otherSitesAreRefused() throws Exception {
        HttpRequest.Builder post =
                HttpRequest.newBuilder(URI.create(at("/examine"))).POST(BodyPublishers.noBody());
        String here = "http://127.0.0.1:%s".formatted(console.port());

        assertThat(send(post.copy(), "Cookie", cookie, "Origin", "http://evil.example")
                        .statusCode())
                .isEqualTo(403);
        assertThat(send(post.copy(), "Cookie", cookie, "Origin", "null").statusCode())
                .isEqualTo(403);
        assertThat(send(post.copy(), "Cookie", cookie, "Origin", "http://localhost:1")
                        .statusCode())
                .isEqualTo(403);
        assertThat(send(post.copy(), "Origin", here).statusCode()).isEqualTo(403);
        assertThat(send(post.copy(), "Cookie", cookie, "Origin", here).statusCode())
                .isEqualTo(202);
        assertThat(get(at("/examine"), "Cookie", cookie).statusCode()).isEqualTo(405);
        assertThat(get(at("/search?q=7"), "Cookie", cookie, "Sec-Fetch-Site", "cross-site")
                        .statusCode())
                .isEqualTo(403);
        assertThat(get(at("/search?q=7"), "Cookie", cookie, "Sec-Fetch-Site", "same-site")
                        .statusCode())
                .isEqualTo(403);
        // A link in a mail or a chat.
        assertThat(get(console.url(), "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
                        .statusCode())
                .isEqualTo(200);
    }

    @Test
    void itListensOnLocalhostOnly() {
        Cli.Result refused =
                Cli.launch(InputStream.nullInputStream(), shards.environment(), "console", "--listen", "0.0.0.0:0");

        assertThat(refused.exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(refused.err()).isEqualTo("""
                error: the console listens only on localhost, and 0.0.0.0:0 is not an address of it
                hint: from another machine, use a tunnel: ssh -L 9719:127.0.0.1:9719 HOST
                """);
    }

    @Test
    void metricsAreThoseOfTheExporter() throws Exception {
        assertThat(get("http://127.0.0.1:%s/metrics".formatted(console.port())).body())
                .contains(
                        "\nshardflake_catalog_up 1.0\n",
                        "\nshardflake_server_shards{server=\"db1\",state=\"open\"} 8.0\n");
    }

    @Test
    void aSearchFindsWhatATextMayMean() throws Exception {
        shards.execute("db1", "INSERT INTO shard_0003.account (uid, balance) VALUES (3, 1)");
        String id = String.valueOf(shards.number("db1", "SELECT max(id) FROM shard_0003.account"));
        String base32 = Cli.launch("id", "convert", "--to=base32", id).out().strip();

        JsonNode byId = search(id);
        assertThat(byId.findValuesAsText("as")).containsExactly("id", "uid", "text key");
        assertThat(byId.get(0).get("shard").asInt()).isEqualTo(3);
        assertThat(byId.get(0).get("server").asText()).isEqualTo("db1");
        assertThat(byId.get(0).get("state").asText()).isEqualTo("open");
        assertThat(byId.get(0).get("base32").asText()).isEqualTo(base32);
        assertThat(byId.get(0).get("time").asText()).startsWith("20");
        assertThat(byId.get(0).get("command").asText()).isEqualTo("shardflake id decode " + id);
        assertThat(byId.get(0).get("neighbours").findValuesAsText("shard")).contains("2", "4");
        assertThat(search(base32).get(0).get("id").asText()).isEqualTo(id);
        assertThat(search("7").findValuesAsText("as")).containsExactly("shard", "uid", "text key");
        assertThat(search("shard_0007").findValuesAsText("as")).containsExactly("shard");
        assertThat(search("shard_9999")).isEmpty();
        assertThat(search("9".repeat(20)).findValuesAsText("as")).containsExactly("text key");
        assertThat(search(base32).findValuesAsText("as")).contains("id in base32", "text key");
        assertThat(search("-1").get(0).get("shard").asInt()).isEqualTo(7);
        JsonNode key = search("o'neil");
        assertThat(key.findValuesAsText("as")).containsExactly("text key");
        assertThat(key.get(0).get("command").asText()).isEqualTo("shardflake map locate --key 'o'\\''neil'");
        assertThat(get(at("/search?q="), "Cookie", cookie).statusCode()).isEqualTo(400);
        assertThat(get(at("/search?q=" + "7".repeat(201)), "Cookie", cookie).statusCode())
                .isEqualTo(400);
        assertThat(status("GET " + root() + "/search?q=%zz HTTP/1.1", "Host: localhost", "Cookie: " + cookie))
                .contains(" 400 ");
        assertThat(get(at("/search?q=%3Cscript%3E"), "Cookie", cookie).headers().firstValue("Content-Type"))
                .contains("application/json");
    }

    private JsonNode search(String text) throws Exception {
        URI uri = URI.create(at("/search?q=" + URLEncoder.encode(text, UTF_8)));
        // 503 before the first look.
        HttpResponse<String> answer = await().atMost(PATIENCE)
                .until(
                        () -> send(HttpRequest.newBuilder(uri), "Cookie", cookie),
                        response -> response.statusCode() != 503);
        assertThat(answer.statusCode()).isEqualTo(200);
        return JSON.readTree(answer.body());
    }

    /** A move from beginning to end, and then a shard that someone closed. */
    @Test
    @Tag("full")
    void newsComeWhileTheyHappen() throws Exception {
        try (News news = new News()) {
            news.await("shards", facts -> facts.get("states").asText().equals("oooooooo"));
            news.await("now", facts -> facts.at("/servers/0/states/open").asInt() == 8);
            news.await("moves", JsonNode::isEmpty);
            news.await("doctor", facts -> facts.path("state").asText().equals("done"));
            news.await("curves", facts -> facts.at("/connections/0/0").asDouble() > 0);

            launch("move", "start", "--shards=2-3", "--to=db2");
            shards.executeInCatalog("UPDATE shardflake_catalog.move SET reason = '<b>big</b>'");
            news.await("shards", facts -> facts.get("states").asText().equals("oommoooo"));
            news.await(
                    "moves",
                    facts -> facts.at("/0/phase").asText().equals("following")
                            && facts.at("/0/reason").asText().equals("<b>big</b>")
                            && !facts.at("/0/commands").isEmpty());
            JsonNode move = news.last("moves").get(0);
            assertThat(move.get("phases").get("copied").asText()).isEqualTo("2,3");
            assertThat(move.get("commands").findValuesAsText("command"))
                    .containsExactly("shardflake move cutover 1", "shardflake move cancel 1");

            launch("move", "cutover", "1");
            news.await("shards", facts -> facts.get("homes").toString().equals("[0,0,1,1,0,0,0,0]"));
            news.await(
                    "moves",
                    facts -> facts.at("/0/pauses").size() == 2
                            && !facts.at("/0/commands").isEmpty());
            news.await("curves", facts -> facts.at("/pauses").size() > 0);
            assertThat(news.last("moves").get(0).get("commands").findValuesAsText("command"))
                    .containsExactly("shardflake move complete 1", "shardflake move reverse 1");

            launch("move", "complete", "1", "--yes");
            news.await("moves", JsonNode::isEmpty);
            news.await("history", facts -> facts.at("/0/change").asText().equals("move completed"));

            shards.execute("db1", "SELECT shardflake.fence_shard(5)");
            news.await("shards", facts -> facts.get("states").asText().equals("oooooc" + "oo"));
            news.await("unsafe", facts -> facts.at("/0/check").asText().equals("shards-closed"));
            post("/examine");
            news.await("doctor", facts -> facts.at("/findings/0/check").asText().equals("shard-closed"));
            assertThat(news.last("doctor").at("/findings/0/commands").toString())
                    .isEqualTo("[\"shardflake doctor --fix\"]");

            launch("doctor", "--fix");
            post("/examine");
            news.await("unsafe", JsonNode::isEmpty);
            news.await(
                    "doctor",
                    facts -> facts.path("findings").isEmpty()
                            && facts.path("state").asText().equals("done"));

            news.await("schemas", facts -> facts.path("differing").asInt(-1) == 0);
            shards.execute("db2", "ALTER TABLE shard_0002.account ADD colour text");
            post("/compare");
            news.await("schemas", facts -> facts.path("differing").asInt() == 1);
            assertThat(news.last("schemas").at("/described/0").toString())
                    .contains("\"shard\":2,\"server\":\"db2\"", "colour");
            assertThat(news.last("schemas").get("command").asText()).isEqualTo("shardflake schema status --drift");
            assertThat(console.told()).isEmpty();
        }
    }

    private void post(String path) throws Exception {
        HttpRequest.Builder post = HttpRequest.newBuilder(URI.create(at(path)));
        assertThat(send(post.POST(BodyPublishers.noBody()), "Cookie", cookie).statusCode())
                .isEqualTo(202);
    }

    private void launch(String... command) {
        Cli.Result result = Cli.launch(InputStream.nullInputStream(), shards.environment(), command);
        assertThat(result.exitCode()).as(result.toString()).isZero();
    }

    /** What the stream of events said last, asked for again when it ends, as a browser does. */
    private final class News implements AutoCloseable {

        private final Map<String, JsonNode> last = new ConcurrentHashMap<>();
        private volatile boolean ended;
        private final Thread reader = new Thread(this::read, "news");

        News() {
            reader.start();
        }

        private void read() {
            while (!ended) {
                try {
                    HttpRequest request = HttpRequest.newBuilder(URI.create(at("/events")))
                            .header("Cookie", cookie)
                            .build();
                    AtomicReference<String> event = new AtomicReference<>("");
                    client.send(request, BodyHandlers.ofLines()).body().forEach(line -> {
                        if (line.startsWith("event: ")) {
                            event.set(line.substring(7));
                        } else if (line.startsWith("data: ")) {
                            last.put(event.get(), parse(line.substring(6)));
                        }
                    });
                } catch (Exception e) {
                    if (!ended) {
                        last.put("failure", JSON.valueToTree(e.toString()));
                    }
                }
            }
        }

        private JsonNode parse(String json) {
            try {
                return JSON.readTree(json);
            } catch (Exception e) {
                throw new AssertionError(json, e);
            }
        }

        JsonNode last(String part) {
            return last.getOrDefault(part, JSON.missingNode());
        }

        void await(String part, Predicate<JsonNode> condition) {
            Awaitility.await()
                    .atMost(PATIENCE)
                    .untilAsserted(() -> assertThat(isSeen(part, condition))
                            .as("%s: %s", part, last)
                            .isTrue());
        }

        private boolean isSeen(String part, Predicate<JsonNode> condition) {
            JsonNode facts = last(part);
            return !facts.isMissingNode() && condition.test(facts);
        }

        @Override
        public void close() throws InterruptedException {
            ended = true;
            console.close();
            reader.join(PATIENCE.toMillis());
        }
    }
}
