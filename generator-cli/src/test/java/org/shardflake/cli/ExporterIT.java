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
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.watch.Exporter;
import org.shardflake.cluster.NeededPrograms;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.server.ServerUrl;
import org.shardflake.watch.Watch;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** The catalog and two shards on db1, two shards on db2, which has a standby; a move of shard 1 to db2 is in progress. */
class ExporterIT {

    private static final Path PAGE = Path.of("../src/docs/guide/watching.md");
    private static final Path MONITORING = Path.of("../src/monitoring");
    private static final Pattern METRIC = Pattern.compile("\\b(shardflake_[a-z_]+)(?:\\{([^}]*)})?");
    private static final Pattern LABEL = Pattern.compile("([a-z_]+)(?:=~|=|!=|!~)\"");

    @TempDir
    static Path directory;

    private static PostgresCluster cluster;
    private static NoteShards shards;

    private final HttpClient client = HttpClient.newHttpClient();
    private final List<String> told = new CopyOnWriteArrayList<>();
    private Watch watch;
    private Exporter exporter;

    @BeforeAll
    static void create() throws Exception {
        cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(2)
                .start();
        cluster.standbyOf(cluster.server(1));
        shards = new NoteShards(
                cluster.server(0).uri("postgres"),
                Map.of(
                        "db1", cluster.server(0).uri("postgres") + "?connect_timeout=2",
                        "db2", cluster.server(1).uri("postgres") + "?connect_timeout=2"));
        shards.create(directory);
        shards.succeed("restore-point", "before-release-7");
        NoteShards.execute(
                cluster.server(0), "INSERT INTO shard_0001.note (text) SELECT 'x' FROM generate_series(1, 1000)");
        shards.succeed("move", "start", "--shards=1", "--to=db2");
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    @BeforeEach
    void start() throws Exception {
        watch = new Watch(ServerUrl.parse(shards.catalog()), server -> ServerUrl.parse(server.url()), told::add);
        exporter = Exporter.start(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), watch, 20, told::add);
    }

    @AfterEach
    void end() {
        exporter.close();
        watch.close();
    }

    private HttpResponse<String> get(String path) throws Exception {
        URI uri =
                URI.create("http://localhost:%s%s".formatted(exporter.address().getPort(), path));
        return client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
    }

    private String scrape() throws Exception {
        HttpResponse<String> response = get("/metrics");
        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(response.headers().firstValue("Content-Type").orElse("")).startsWith("text/plain; version=0.0.4");
        return response.body();
    }

    @Test
    void itTellsWhatIsThere() throws Exception {
        scrape();
        NoteShards.execute(
                cluster.server(0),
                "INSERT INTO shard_0000.note (text) SELECT 'x' FROM generate_series(1, 100); SELECT pg_stat_force_next_flush()");

        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThat(scrape())
                        .contains(
                                "\nshardflake_server_rows_written_total{operation=\"insert\",server=\"db1\"} 100.0\n"));
        assertThat(scrape())
                .contains(
                        "\nshardflake_catalog_up 1.0\n",
                        "\nshardflake_server_up{server=\"db2\"} 1.0\n",
                        "\nshardflake_server_shards{server=\"db1\",state=\"moving\"} 1.0\n",
                        "\nshardflake_server_shards{server=\"db1\",state=\"open\"} 1.0\n",
                        "\nshardflake_server_shards{server=\"db2\",state=\"open\"} 2.0\n",
                        "\nshardflake_server_library_version{server=\"db2\"} ",
                        "\nshardflake_shard_rows_written_total{operation=\"insert\",server=\"db1\",shard=\"0\"} 100.0\n",
                        "\nshardflake_move_phase{move=\"1\",phase=\"following\",shards=\"1\",source=\"db1\",target=\"db2\"} 1.0\n",
                        "\nshardflake_move_shards{move=\"1\",phase=\"copied\"} 1.0\n",
                        "\nshardflake_move_stream_running{direction=\"forward\",move=\"1\"} 1.0\n",
                        "\nshardflake_standby_lag_bytes{")
                .containsPattern("shardflake_restore_point_timestamp_seconds 1\\.[0-9]+E9\n")
                .containsPattern(
                        "shardflake_slot_retained_bytes\\{server=\"db1\",slot=\"shardflake_m1_\\w+_forward\"} ")
                .doesNotContain("postgresql://", "localhost");
        assertThat(told).isEmpty();
    }

    /** PostgreSQL forgets what it counted of a table that is dropped; that is no restart, after which all would be new. */
    @Test
    void aDroppedTableAddsNothing() throws Exception {
        NoteShards.execute(
                cluster.server(0),
                "CREATE TABLE shard_0000.old (id bigint); INSERT INTO shard_0000.old SELECT generate_series(1, 500); INSERT INTO shard_0000.note (text) SELECT 'x' FROM generate_series(1, 100); SELECT pg_stat_force_next_flush()");
        String[] counted = {
            "\nshardflake_server_rows_written_total{operation=\"insert\",server=\"db1\"} 600.0\n",
            "\nshardflake_shard_rows_written_total{operation=\"insert\",server=\"db1\",shard=\"0\"} 600.0\n"
        };
        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThat(scrape()).contains(counted));
        NoteShards.execute(cluster.server(0), "DROP TABLE shard_0000.old");

        assertThat(scrape()).contains(counted);
    }

    @Test
    void whoAsksForProtobufFirstGetsText() throws Exception {
        String protobuf =
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,";

        assertThat(accepting(protobuf + "application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1"))
                .startsWith("200 application/openmetrics-text");
        assertThat(accepting(protobuf + "text/plain;version=0.0.4;q=0.2")).startsWith("200 text/plain; version=0.0.4");
    }

    private String accepting(String formats) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:%s/metrics"
                        .formatted(exporter.address().getPort())))
                .header("Accept", formats)
                .build();
        HttpResponse<String> response = client.send(request, BodyHandlers.ofString());
        return response.statusCode() + " "
                + response.headers().firstValue("Content-Type").orElse("");
    }

    @Test
    void aFailureIsAnswered() throws Exception {
        watch.close();

        assertThat(get("/metrics").statusCode()).isEqualTo(500);
        assertThat(told).singleElement().asString().startsWith("a request failed: ");
    }

    @Test
    void promtoolHasNothingToSay() throws Exception {
        assertThat(promtool(scrape(), "check", "metrics")).isEmpty();
        assertThat(promtool("", "check", "rules", "alerts.yaml")).contains("SUCCESS");
        assertThat(promtool("", "test", "rules", "alerts-test.yaml")).contains("SUCCESS");
    }

    private static String promtool(String input, String... args) throws Exception {
        boolean isThere = Stream.of("/usr/bin/promtool", "/usr/local/bin/promtool")
                .anyMatch(file -> Files.isExecutable(Path.of(file)));
        if (!isThere) {
            System.err.println("ExporterIT skips promtool: it needs the Debian package prometheus");
        }
        NeededPrograms.assume(isThere, "promtool");
        List<String> command = new ArrayList<>(List.of("promtool"));
        command.addAll(List.of(args));
        Process process = new ProcessBuilder(command)
                .directory(MONITORING.toFile())
                .redirectErrorStream(true)
                .start();
        process.getOutputStream().write(input.getBytes(UTF_8));
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    /** Nobody sees that a panel stays empty, or that an alert cannot fire. */
    @Test
    void dashboardAndAlertsNameMetricsAndLabelsThatExist() throws Exception {
        Map<String, Set<String>> known = everyMetric();
        Set<String> used = new TreeSet<>();
        for (String expression : expressions()) {
            METRIC.matcher(expression).results().forEach(metric -> {
                used.add(metric.group(1));
                assertThat(known).as(expression).containsKey(metric.group(1));
                LABEL.matcher(Objects.requireNonNullElse(metric.group(2), ""))
                        .results()
                        .forEach(label -> assertThat(known.get(metric.group(1)))
                                .as(expression)
                                .contains(label.group(1)));
            });
        }
        assertThat(used).hasSizeGreaterThan(20);
    }

    @Test
    void thePageDescribesEveryMetric() throws Exception {
        String page = Files.readString(PAGE);

        Map<String, Set<String>> known = everyMetric();
        assertThat(known.keySet()).allSatisfy(metric -> assertThat(page).contains("`" + metric + "`"));
        assertThat(known.keySet())
                .containsAll(METRIC.matcher(page)
                        .results()
                        .map(metric -> metric.group(1))
                        .toList());
    }

    /** The labels of every metric, also of those that only an adoption has, or a move while a command copies. */
    private Map<String, Set<String>> everyMetric() throws Exception {
        Map<String, Set<String>> known = labelsByMetric(scrape());
        try (Connection command = cluster.server(0).connect();
                Statement lock = command.createStatement()) {
            lock.execute(
                    "SELECT pg_advisory_lock(hashtext('shardflake.move'), id::integer) FROM shardflake_catalog.move");
            addCopying(known);
        }
        addAdoption(known);
        return known;
    }

    private void addCopying(Map<String, Set<String>> known) throws Exception {
        NoteShards.execute(
                cluster.server(0),
                "UPDATE shardflake_catalog.move SET phase = 'copying', phase_since = now() - interval '1 minute'; UPDATE shardflake_catalog.move_shard SET phase = 'waiting', bytes = 1000000000, bytes_at = clock_timestamp()");
        try {
            labelsByMetric(scrape()).forEach(known::putIfAbsent);
        } finally {
            NoteShards.execute(
                    cluster.server(0),
                    "UPDATE shardflake_catalog.move SET phase = 'following'; UPDATE shardflake_catalog.move_shard SET phase = 'copied'");
        }
    }

    /** Adds the records that {@code adopt} makes in both databases. The command itself refuses to run while a shard moves. */
    private void addAdoption(Map<String, Set<String>> known) throws Exception {
        NoteShards.execute(cluster.server(0), """
                CREATE SCHEMA shardflake_adopt;
                CREATE TABLE shardflake_adopt.adoption AS SELECT gen_random_uuid() AS mark, 1 AS id, 'public.old' AS source, 'FOLLOWING' AS state, 'uid' AS key, 7::bigint AS copied_rows;
                CREATE TABLE shardflake_adopt.changes_1 AS SELECT now() AS shardflake_at;
                CREATE TABLE shardflake_adopt.slice AS SELECT 1 AS shard, now() AS over_since;
                CREATE TABLE public.old ();
                CREATE TRIGGER zz_shardflake_adopt_fence BEFORE UPDATE ON public.old FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
                INSERT INTO shardflake_catalog.adoption (id, source, database, target) SELECT mark, source, '%s', 'note' FROM shardflake_adopt.adoption
                """.formatted(cluster.server(0).uri("postgres")));
        try {
            scrape(); // It asks about the adoptions of the look before.
            labelsByMetric(scrape()).forEach(known::putIfAbsent);
        } finally {
            NoteShards.execute(
                    cluster.server(0),
                    "DELETE FROM shardflake_catalog.adoption; DROP SCHEMA shardflake_adopt CASCADE; DROP TABLE public.old");
        }
    }

    private static Map<String, Set<String>> labelsByMetric(String metrics) {
        Map<String, Set<String>> labels = new TreeMap<>();
        METRIC.matcher(metrics.replaceAll("(?m)^#.*$", "")).results().forEach(metric -> {
            Set<String> its = labels.computeIfAbsent(metric.group(1), name -> new HashSet<>());
            LABEL.matcher(Objects.requireNonNullElse(metric.group(2), ""))
                    .results()
                    .forEach(label -> its.add(label.group(1)));
        });
        return labels;
    }

    private static List<String> expressions() throws IOException {
        JsonNode dashboard =
                new ObjectMapper().readTree(MONITORING.resolve("dashboard.json").toFile());
        List<String> expressions = new ArrayList<>(dashboard.findValuesAsText("expr"));
        assertThat(expressions).hasSizeGreaterThan(20);
        Object rules = new Load(LoadSettings.builder().build())
                .loadFromString(Files.readString(MONITORING.resolve("alerts.yaml")));
        JsonNode alerts = new ObjectMapper().valueToTree(rules);
        expressions.addAll(alerts.findValuesAsText("expr"));
        return expressions;
    }

    @Test
    @Tag("full")
    void aFrozenServerIsDownAndTheOthersAreThere() throws Exception {
        scrape();
        cluster.server(1).freeze();
        try {
            for (int look = 0; look < 2; look++) {
                assertThat(scrape())
                        .contains(
                                "\nshardflake_server_up{server=\"db1\"} 1.0\n",
                                "\nshardflake_server_up{server=\"db2\"} 0.0\n",
                                "\nshardflake_server_shards{server=\"db2\",state=\"unknown\"} 2.0\n");
            }
            assertThat(told)
                    .singleElement()
                    .asString()
                    .matches("server db2 does not answer: .+:\\d+: no answer within 4 s");
        } finally {
            cluster.server(1).thaw();
        }
        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThat(scrape()).contains("\nshardflake_server_up{server=\"db2\"} 1.0\n"));
        assertThat(told).last().isEqualTo("server db2 answers again");
    }

    @Test
    void nothingElseIsServed() throws Exception {
        assertThat(get("/").statusCode()).isEqualTo(404);
        assertThat(get("/metrics/../etc/passwd").statusCode()).isEqualTo(404);
        HttpRequest post = HttpRequest.newBuilder(URI.create("http://localhost:%s/metrics"
                        .formatted(exporter.address().getPort())))
                .POST(HttpRequest.BodyPublishers.noBody())
                .build();
        assertThat(client.send(post, BodyHandlers.ofString()).statusCode()).isEqualTo(405);
    }

    @Test
    void theCommandServesUntilItIsEnded() throws Exception {
        ProcessBuilder command = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Shardflake.class.getName(),
                "exporter",
                "--listen=localhost:0");
        command.environment().put("SHARDFLAKE_CATALOG", shards.catalog());
        command.environment().put("PGPASSWORD", "a-password");
        command.environment().remove("JAVA_TOOL_OPTIONS"); // which Java says that it has
        Process process = command.redirectErrorStream(true).start();
        try (BufferedReader output = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8))) {
            String first = output.readLine();
            assertThat(first).matches("metrics are at http://localhost:\\d+/metrics");
            HttpResponse<String> metrics = client.send(
                    HttpRequest.newBuilder(URI.create(first.replaceFirst(".* ", "")))
                            .build(),
                    BodyHandlers.ofString());
            assertThat(metrics.body()).contains("\nshardflake_catalog_up 1.0\n").doesNotContain("a-password");

            // As systemd does; a background job of a shell may ignore SIGINT. This leaves the streams open.
            process.toHandle().destroy();
            assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
            assertThat(process.exitValue()).isEqualTo(128 + 15);
            assertThat(output.readLine()).isNull();
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void anAddressThatIsTakenOrWrongIsRefused() {
        shards.fails(
                ExitCodes.PRECONDITION,
                "error: cannot listen at localhost:%s: Address already in use"
                        .formatted(exporter.address().getPort()),
                "exporter",
                "--listen=localhost:" + exporter.address().getPort());
        shards.fails(ExitCodes.USAGE, "'nonsense' is not an address to listen on", "exporter", "--listen=nonsense");
        shards.fails(ExitCodes.USAGE, "--top is -1, allowed: 0 to 8192", "exporter", "--top=-1");
    }
}
