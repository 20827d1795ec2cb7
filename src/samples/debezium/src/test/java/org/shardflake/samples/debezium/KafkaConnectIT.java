/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.debezium;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cdc.ShardOrder;
import org.shardflake.changes.ChangeStream;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.AccountShards;
import org.shardflake.router.ShardRouter;

/** A broker of Kafka and a worker of Kafka Connect, each a process, with a connector for each of two servers; and what consumes their topics. */
class KafkaConnectIT {

    private static final int ROUNDS = Integer.getInteger("debezium.rounds", 3);
    private static final String SLOT = "shardflake_cdc_connect";
    private static final List<String> SERVERS = List.of("db1", "db2");

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final List<Process> processes = new ArrayList<>();
    private boolean isStopped;
    private final Map<String, Queue<ConsumerRecord<byte[], byte[]>>> waiting = new HashMap<>();
    private final Random crashes = new Random();
    private final JsonConverter keys = new JsonConverter();
    private final JsonConverter values = new JsonConverter();
    private final SimpleHeaderConverter headers = new SimpleHeaderConverter();
    private AccountShards shards;
    private PlainDatabase sink;
    private ShardOrder order;
    private String broker = "";
    private final AtomicInteger applied = new AtomicInteger();
    private long until;
    private int past;
    private int later;
    private int restarts;
    private final AtomicInteger kills = new AtomicInteger();

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, PlainDatabase.SHARDS, directory);
        new ChangeStream(shards.catalogUrl(), server -> shards.url(server.name()), voice -> {}).create();
        for (String server : SERVERS) {
            shards.execute(server, "SELECT pg_create_logical_replication_slot('%s', 'pgoutput')".formatted(SLOT));
        }
        order = ShardOrder.begin(shards.catalogUrl());
        sink = PlainDatabase.create(postgres.database(2).connect(), order);
        keys.configure(Map.of(), true);
        values.configure(Map.of(), false);
        startBroker();
        writeWorker();
    }

    @AfterEach
    void stop() throws InterruptedException {
        synchronized (processes) {
            isStopped = true; // After a failure, another thread may still be about to start a worker.
            for (Process process : processes) {
                process.destroyForcibly().waitFor();
            }
        }
    }

    @Test
    void equalThroughMovesAndKilledWorkers() throws Exception {
        until = System.nanoTime() + TimeUnit.MINUTES.toNanos(10L + ROUNDS);
        Process[] worker = {startWorker()};
        try (ShardRouter router = ShardRouter.builder()
                .catalog(postgres.database(2).uri())
                .credentials(postgres.database(2).user(), postgres.database(2).password())
                .build()) {
            CompletableFuture<Boolean> work = CompletableFuture.supplyAsync(() -> {
                try {
                    new Work(router, shards, SERVERS, new Random())
                            .run(ROUNDS, () -> worker[0] = startAgain(worker[0]));
                    return true;
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            while (!sink.isComplete()) {
                consume(work);
                restarts++;
            }
            work.get(1, TimeUnit.MINUTES);
        }
        sink.compare(shards);
        assertThat(past + later).as("records that were not simply applied").isPositive();
        System.out.printf(
                "%s rounds, %s records applied, %s waits for another server, %s records left out, %s restarts of the consumer, %s killed workers%n",
                ROUNDS, applied, later, past, restarts, kills);
    }

    /** Until it stops, as a service that is killed does, or everything is there. */
    private void consume(CompletableFuture<Boolean> work) throws Exception {
        sink.rollBack();
        order = sink.order();
        waiting.clear();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                Map.of("bootstrap.servers", broker), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = SERVERS.stream()
                    .map(server -> new TopicPartition("changes-" + server, 0))
                    .toList();
            consumer.assign(partitions);
            Map<String, Long> offsets = new HashMap<>();
            Stream.of(sink.offsets().split(",")).filter(text -> !text.isEmpty()).forEach(text -> {
                int at = text.indexOf('=');
                offsets.put(text.substring(0, at), Long.valueOf(text.substring(at + 1)));
            });
            partitions.forEach(partition -> consumer.seek(partition, offsets.getOrDefault(partition.topic(), 0L)));
            while (!sink.isComplete()) {
                assertThat(System.nanoTime())
                        .as("the time is over; see %s", log())
                        .isLessThan(until);
                if (work.isCompletedExceptionally()) {
                    work.get();
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    waiting.computeIfAbsent(record.topic(), topic -> new ArrayDeque<>())
                            .add(record);
                }
                if (takeAll(offsets)) {
                    return;
                }
            }
        }
    }

    /** Takes from each server what may come now; whether the consumer is killed. */
    private boolean takeAll(Map<String, Long> offsets) throws SQLException {
        boolean more = true;
        while (more) {
            more = false;
            for (Queue<ConsumerRecord<byte[], byte[]>> its : waiting.values()) {
                while (!its.isEmpty()) {
                    if (!take(its.element())) {
                        later++;
                        break;
                    }
                    ConsumerRecord<byte[], byte[]> record = its.remove();
                    offsets.put(record.topic(), record.offset() + 1);
                    more = true;
                    if (!sink.isComplete() && crashes.nextInt(2000) == 0) {
                        return true;
                    }
                }
            }
        }
        sink.commit(order, offsets.toString().replaceAll("[{} ]", ""));
        return false;
    }

    private boolean take(ConsumerRecord<byte[], byte[]> stored) throws SQLException {
        ConnectRecord<?> record = connectRecord(stored);
        ShardOrder.Turn turn = order.take(record);
        if (turn == ShardOrder.Turn.NOW
                && record.value() instanceof Struct value
                && value.schema().field("source") != null) {
            sink.change(
                    order.id(record).orElseThrow(),
                    value.getStruct("source").getString("table"),
                    (Struct) record.key(),
                    value);
            applied.incrementAndGet();
        }
        past += turn == ShardOrder.Turn.PAST ? 1 : 0;
        return turn != ShardOrder.Turn.LATER;
    }

    /** Converts a record to what a sink connector would get. */
    private ConnectRecord<?> connectRecord(ConsumerRecord<byte[], byte[]> stored) {
        SchemaAndValue key = keys.toConnectData(stored.topic(), stored.key());
        SchemaAndValue value = values.toConnectData(stored.topic(), stored.value());
        ConnectHeaders its = new ConnectHeaders();
        stored.headers()
                .forEach(header ->
                        its.add(header.key(), headers.toConnectHeader(stored.topic(), header.key(), header.value())));
        return new SinkRecord(
                stored.topic(),
                stored.partition(),
                key.schema(),
                key.value(),
                value.schema(),
                value.value(),
                stored.offset(),
                stored.timestamp(),
                stored.timestampType(),
                its);
    }

    private void startBroker() throws Exception {
        broker = "127.0.0.1:" + freePort();
        String controller = "127.0.0.1:" + freePort();
        Path settings = write(
                "server.properties",
                Map.of(
                        "process.roles", "broker,controller",
                        "node.id", "1",
                        "controller.quorum.bootstrap.servers", controller,
                        "listeners", "PLAINTEXT://%s,CONTROLLER://%s".formatted(broker, controller),
                        "controller.listener.names", "CONTROLLER",
                        "log.dirs", directory.resolve("kafka").toString(),
                        "offsets.topic.replication.factor", "1",
                        "num.partitions", "1"));
        Process format = start(
                "kafka.tools.StorageTool",
                "format",
                "-t",
                Uuid.randomUuid().toString(),
                "-c",
                settings.toString(),
                "--standalone");
        assertThat(format.waitFor(2, TimeUnit.MINUTES)).isTrue();
        assertThat(format.exitValue()).as("kafka-storage format; see %s", log()).isZero();
        start("kafka.Kafka", settings.toString());
    }

    /** The plugin path has what an installation has there: the directory of Debezium's connector with the jars of the transformation. */
    private void writeWorker() throws IOException {
        Path path = directory.resolve("plugins");
        Path plugins = Files.createDirectories(path.resolve("debezium-connector-postgres"));
        for (String jar : classpath(KafkaConnectIT::isPlugin)) {
            Files.copy(Path.of(jar), plugins.resolve(Path.of(jar).getFileName()));
        }
        assertThat(plugins.toFile().list())
                .anyMatch(jar -> jar.startsWith("shardflake-cdc-"))
                .anyMatch(jar -> jar.startsWith("debezium-connector-postgres-"));
        write(
                "worker.properties",
                Map.of(
                        "bootstrap.servers", broker,
                        "key.converter", JsonConverter.class.getName(),
                        "value.converter", JsonConverter.class.getName(),
                        "offset.storage.file.filename",
                                directory.resolve("offsets").toString(),
                        "offset.flush.interval.ms", "500",
                        "listeners", "http://127.0.0.1:0",
                        "plugin.path", path.toString()));
        for (int server = 0; server < SERVERS.size(); server++) {
            writeConnector(SERVERS.get(server), postgres.database(server).uri());
        }
    }

    private void writeConnector(String server, String database) throws IOException {
        Map<String, String> settings = ConnectorSettings.of(server, database, SLOT);
        settings.putAll(Map.of(
                "transforms", "shards,topic",
                "transforms.topic.type", "org.apache.kafka.connect.transforms.RegexRouter",
                "transforms.topic.regex", ".*",
                "transforms.topic.replacement", "changes-" + server));
        write(server + ".properties", settings);
    }

    /** When it has sent something. */
    private Process startAgain(Process worker) {
        int before = applied.get();
        try {
            while (applied.get() < before + 100 && System.nanoTime() < until) {
                TimeUnit.MILLISECONDS.sleep(10);
            }
            kills.incrementAndGet();
            worker.destroyForcibly().waitFor();
            return startWorker();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private Process startWorker() throws IOException {
        return start(
                "org.apache.kafka.connect.cli.ConnectStandalone",
                directory.resolve("worker.properties").toString(),
                directory.resolve("db1.properties").toString(),
                directory.resolve("db2.properties").toString());
    }

    private Process start(String mainClass, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx512m",
                "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-cp",
                String.join(File.pathSeparator, classpath(jar -> !isPlugin(jar) && jar.endsWith(".jar"))),
                mainClass));
        command.addAll(List.of(arguments));
        synchronized (processes) {
            if (isStopped) {
                throw new IOException("the test has ended");
            }
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(
                            directory.resolve("log").toFile()))
                    .start();
            processes.add(process);
            return process;
        }
    }

    private static boolean isPlugin(String jar) {
        String name = Path.of(jar).getFileName().toString();
        return name.endsWith(".jar")
                && Stream.of(
                                "debezium-",
                                "postgresql-",
                                "protobuf-java-",
                                "shardflake-cdc-",
                                "shardflake-router-",
                                "shardflake-id-")
                        .anyMatch(name::startsWith);
    }

    private static List<String> classpath(Predicate<String> which) {
        String path = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        return Stream.of(path.split(File.pathSeparator)).filter(which).toList();
    }

    private Path write(String name, Map<String, String> settings) throws IOException {
        return Files.writeString(
                directory.resolve(name),
                settings.entrySet().stream()
                        .map(setting -> "%s=%s%n"
                                .formatted(setting.getKey(), setting.getValue().replace("\\", "\\\\")))
                        .collect(Collectors.joining()));
    }

    private String log() throws IOException {
        String log = Files.readString(directory.resolve("log"), UTF_8);
        return log.substring(Math.max(0, log.length() - 20_000));
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
