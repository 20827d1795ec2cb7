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
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.watch.Exporter;
import org.shardflake.cluster.NeededPrograms;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;
import org.shardflake.watch.Watch;

/**
 * The panels of {@code dashboard.json}: their queries answered by Prometheus, which scrapes a running installation, and drawn by this
 * test, since Grafana is no Debian package. With {@code -Dguide.update} the picture of the guide is made.
 */
@Tag("full")
class DashboardIT {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path PROMETHEUS = Path.of("/usr/bin/prometheus");
    private static final Path MONITORING = Path.of("../src/monitoring");
    private static final Path PICTURES = Path.of(Boolean.getBoolean("guide.update") ? "../src/docs/guide" : "target");
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Pattern LABEL = Pattern.compile("\\{\\{(\\w+)}}");
    private static final int SHARDS = 48;
    private static final int CLOSED = 40;

    @TempDir
    Path directory;

    private final HttpClient client = HttpClient.newHttpClient();
    private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    private URI prometheus = URI.create("http://localhost/");
    private @Nullable Process scraper;
    private long from;
    private long to;

    /** db1 is hot, shards 2 to 5 of it move to db3, shard 40 refuses writes, db2 has a standby. */
    @Test
    void everyPanelHasData() throws Exception {
        if (!Files.isExecutable(PROMETHEUS)) {
            System.err.println("DashboardIT is skipped: it needs the Debian package prometheus");
        }
        NeededPrograms.assume(Files.isExecutable(PROMETHEUS), "prometheus");
        try (Browser browser = Browser.open(DashboardIT.class);
                PostgresCluster cluster = PostgresCluster.builder()
                        .provider(PostgresProvider.EMBEDDED)
                        .servers(3)
                        .start()) {
            NoteShards shards = create(cluster);
            ScheduledExecutorService load = Executors.newScheduledThreadPool(2);
            try (ShardRouter router =
                            ShardRouter.builder().catalog(shards.catalog()).build();
                    Watch watch = new Watch(
                            ServerUrl.parse(shards.catalog()), server -> ServerUrl.parse(server.url()), told -> {});
                    Exporter exporter = Exporter.start(
                            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), watch, 20, told -> {})) {
                scrape(exporter.address().getPort());
                Random random = new Random(22);
                Future<?> using = load.scheduleWithFixedDelay(() -> use(router, random), 0, 10, TimeUnit.MILLISECONDS);
                run(shards, cluster);
                draw(browser);
                assertThat(using).isNotDone();
                load.shutdown();
                assertThat(load.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
            } finally {
                load.shutdownNow();
                Process running = scraper;
                if (running != null) {
                    running.destroy();
                    assertThat(running.waitFor(1, TimeUnit.MINUTES)).isTrue();
                }
            }
        }
        assertThat(failures).isEmpty();
    }

    private NoteShards create(PostgresCluster cluster) throws Exception {
        cluster.standbyOf(cluster.server(1));
        Map<String, String> urls = new LinkedHashMap<>();
        List<String> init = new ArrayList<>(List.of("init", "--shards=" + SHARDS));
        for (int i = 0; i < 3; i++) {
            String url = cluster.server(i).uri("postgres");
            urls.put("db" + (i + 1), url);
            init.add("--server=db%s=%s".formatted(i + 1, url));
        }
        NoteShards shards = new NoteShards(cluster.server(0).uri("postgres"), urls);
        shards.succeed(init.toArray(String[]::new));
        Path changelog = Files.writeString(directory.resolve("notes.sql"), """
                --liquibase formatted sql
                --changeset ann:note
                CREATE TABLE note (id bigint PRIMARY KEY, text text);
                --changeset ann:note_ids runWith:jdbc splitStatements:false
                SELECT shardflake.add_id_sequence('note', 'id');
                """);
        shards.succeed("schema", "deploy", "--changelog=" + changelog);
        shards.succeed("restore-point", "before-release-7");
        for (int shard = 2; shard <= 5; shard++) {
            NoteShards.execute(
                    cluster.server(0),
                    String.format(
                            Locale.ROOT,
                            "INSERT INTO shard_%04d.note (text) SELECT repeat(md5(n::text), 30) FROM generate_series(1, %s) n",
                            shard,
                            1500 * shard));
        }
        return shards;
    }

    /** Its clock is the test's, so that a second without a scrape is one without data. */
    private void scrape(int exporter) throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        prometheus = URI.create("http://localhost:%s/api/v1/".formatted(port));
        Path configuration = Files.writeString(directory.resolve("prometheus.yaml"), """
                global: {scrape_interval: 1s, evaluation_interval: 1s}
                rule_files: ['%s']
                scrape_configs:
                  - job_name: shardflake
                    static_configs: [{targets: ['localhost:%s']}]
                """.formatted(
                        MONITORING.resolve("alerts.yaml").toRealPath(), exporter));
        Process started = new ProcessBuilder(
                        PROMETHEUS.toString(),
                        "--config.file=" + configuration,
                        "--storage.tsdb.path=" + directory.resolve("prometheus"),
                        "--web.listen-address=localhost:" + port)
                .redirectErrorStream(true)
                .redirectOutput(Path.of("target/dashboard-prometheus.log").toFile())
                .start();
        scraper = started;
        await().atMost(PATIENCE)
                .ignoreExceptionsInstanceOf(IOException.class)
                .failFast("it ended", () -> !started.isAlive())
                .until(() -> value("count_over_time(shardflake_catalog_up[10m])") > 2);
        from = System.currentTimeMillis() / 1000;
    }

    /** A row written and one read, most of them in the shards of db1. */
    private void use(ShardRouter router, Random random) {
        int shard = (int) (SHARDS * Math.pow(random.nextDouble(), 3));
        try {
            if (shard != CLOSED) {
                router.write(shard, tx -> {
                    try (Statement statement = tx.connection().createStatement()) {
                        return statement.executeUpdate(
                                tx.sql("INSERT INTO ${shard.schema}.note (text) VALUES ('a new note')"));
                    }
                });
            }
            router.read(shard, tx -> {
                try (Statement statement = tx.connection().createStatement();
                        ResultSet row = statement.executeQuery(
                                tx.sql("SELECT text FROM ${shard.schema}.note ORDER BY id DESC LIMIT 5"))) {
                    return row.next();
                }
            });
        } catch (RuntimeException | SQLException e) {
            failures.add(e);
        }
    }

    private void run(NoteShards shards, PostgresCluster cluster) throws Exception {
        NoteShards.execute(cluster.server(2), "SELECT shardflake.fence_shard(%s)".formatted(CLOSED));
        awaitTrue("count_over_time(shardflake_server_up{server=\"db3\"}[10m]) > 20");
        shards.succeed("move", "start", "--shards=2-5", "--to=db3", "--rate=1MB");
        awaitTrue("shardflake_move_lag_seconds{direction=\"forward\"}");
        shards.succeed("move", "cutover", "1", "--shards=2-3", "--patience=1m");
        awaitTrue("shardflake_move_lag_seconds{direction=\"reverse\"}");
        awaitTrue("count_over_time(ALERTS{alertname=\"ShardflakeShardsClosed\", alertstate=\"firing\"}[1m]) > 5");
        awaitTrue("count_over_time(shardflake_move_shards{phase=\"switched\"}[10m]) > 15");
        to = System.currentTimeMillis() / 1000 - 1;
    }

    private void awaitTrue(String query) {
        await(query)
                .atMost(PATIENCE)
                .until(() -> !ask("query?query=" + encoded(query)).isEmpty());
    }

    private double value(String query) throws Exception {
        JsonNode result = ask("query?query=" + encoded(query));
        return result.isEmpty() ? Double.NaN : result.get(0).get("value").get(1).asDouble();
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, UTF_8);
    }

    private JsonNode ask(String question) throws Exception {
        JsonNode answer = JSON.readTree(
                client.send(HttpRequest.newBuilder(prometheus.resolve(question)).build(), BodyHandlers.ofString())
                        .body());
        assertThat(answer.get("status").asText()).as(answer.toString()).isEqualTo("success");
        return answer.get("data").get("result");
    }

    private void draw(Browser browser) throws Exception {
        JsonNode dashboard = JSON.readTree(MONITORING.resolve("dashboard.json").toFile());
        Map<String, ObjectNode> panels = new LinkedHashMap<>();
        for (JsonNode panel : dashboard.get("panels")) {
            ArrayNode frames = ((ObjectNode) panel).putArray("frames");
            for (JsonNode target : panel.path("targets")) {
                frames(target).forEach(frames::add);
            }
            panels.put(panel.get("title").asText(), (ObjectNode) panel);
            if (!panel.get("type").asText().equals("row")) {
                assertThat(frames).as(panel.get("title").asText()).isNotEmpty();
            }
        }
        tellsWhatIsTheMatter(panels);

        Path page = Files.copy(
                Path.of("src/test/resources/dashboard.html"),
                Files.createDirectories(directory).resolve("page.html"));
        browser.resize(1440, 900);
        browser.visit(page.toUri().toString());
        browser.run(resource("uPlot.iife.min.js") + "; window.uPlot = uPlot;");
        browser.run(
                "const style = document.createElement('style'); style.textContent = arguments[0]; document.head.append(style);",
                resource("uPlot.min.css"));
        browser.run(
                "draw(JSON.parse(arguments[0]), [arguments[1], arguments[2]])",
                JSON.writeValueAsString(panels.values()),
                from,
                to);
        assertThat(browser.number("return document.querySelectorAll('section').length"))
                .isEqualTo(panels.size());
        assertThat(browser.number("return document.querySelectorAll('canvas').length"))
                .isEqualTo(panels.values().stream()
                        .filter(panel -> panel.get("type").asText().equals("timeseries"))
                        .count());
        browser.resize(1440, (int) browser.number("return document.documentElement.scrollHeight"));
        browser.picture(PICTURES.resolve("dashboard.png"));
        assertThat(browser.complaints()).isEmpty();
    }

    private static String resource(String name) throws IOException {
        try (InputStream file = Objects.requireNonNull(
                DashboardIT.class.getResourceAsStream("/META-INF/resources/webjars/uplot/1.6.30/dist/" + name))) {
            return new String(file.readAllBytes(), UTF_8);
        }
    }

    /** What Prometheus answers to a query: a name, the labels, and values by the second. */
    private List<ObjectNode> frames(JsonNode target) throws Exception {
        // What Grafana would put there, at one scrape a second.
        String query = target.get("expr").asText().replace("$__rate_interval", "4s");
        assertThat(query).doesNotContain("$");
        boolean isInstant = target.path("instant").asBoolean();
        JsonNode result = ask(
                isInstant
                        ? "query?query=%s&time=%s".formatted(encoded(query), to)
                        : "query_range?query=%s&start=%s&end=%s&step=1".formatted(encoded(query), from, to));
        List<ObjectNode> frames = new ArrayList<>();
        for (JsonNode series : result) {
            ObjectNode frame = JSON.createObjectNode();
            frame.put(
                    "name",
                    LABEL.matcher(target.get("legendFormat").asText())
                            .replaceAll(label ->
                                    series.get("metric").path(label.group(1)).asText()));
            ArrayNode values = frame.putArray("values");
            Iterable<JsonNode> points = isInstant ? List.of(series.get("value")) : series.get("values");
            for (JsonNode point : points) {
                double value = Double.parseDouble(point.get(1).asText());
                assertThat(value).as(query).isFinite();
                values.addArray().add(point.get(0).asLong()).add(value);
            }
            ObjectNode fields = series.get("metric").deepCopy();
            fields.put("Time", to);
            fields.put("Value", values.get(values.size() - 1).get(1).asText());
            frame.set("fields", fields);
            frames.add(frame);
        }
        return frames;
    }

    /** Which server is hot, which shards move, what is unsafe. */
    private static void tellsWhatIsTheMatter(Map<String, ObjectNode> panels) {
        assertThat(last(panels, "Servers that do not answer", "")).isZero();
        assertThat(last(panels, "Catalog down", "")).isZero();
        assertThat(last(panels, "Shards closed or misplaced", "")).isEqualTo(1);
        assertThat(last(panels, "Slots that lost their log", "")).isZero();
        assertThat(last(panels, "Moves whose last step failed", "")).isZero();
        assertThat(fields(panels, "Alerts"))
                .anySatisfy(alert ->
                        assertThat(alert.toString()).contains("ShardflakeShardsClosed", "\"firing\"", "\"db3\""));
        assertThat(fields(panels, "Moves in progress"))
                .singleElement()
                .satisfies(move -> assertThat(move.toString()).contains("\"2-5\"", "following", "\"db1\"", "\"db3\""));
        for (String panel : List.of("Rows written per second", "Rows read per second", "Ids per second")) {
            assertThat(last(panels, panel, "db1"))
                    .as(panel)
                    .isGreaterThan(last(panels, panel, "db2"))
                    .isGreaterThan(last(panels, panel, "db3"));
        }
    }

    private static List<JsonNode> fields(Map<String, ObjectNode> panels, String panel) {
        return Objects.requireNonNull(panels.get(panel)).findValues("fields");
    }

    /** The mean of a line's last 20 values, or its last one if it has no more. */
    private static double last(Map<String, ObjectNode> panels, String panel, String name) {
        for (JsonNode frame : Objects.requireNonNull(panels.get(panel)).get("frames")) {
            if (frame.get("name").asText().equals(name)) {
                JsonNode values = frame.get("values");
                int first = Math.max(0, values.size() - (name.isEmpty() ? 1 : 20));
                double sum = 0;
                for (int i = first; i < values.size(); i++) {
                    sum += values.get(i).get(1).asDouble();
                }
                return sum / (values.size() - first);
            }
        }
        throw new AssertionError("%s has no %s".formatted(panel, name));
    }
}
