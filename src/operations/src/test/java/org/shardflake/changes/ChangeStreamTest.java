/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.changes;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.doctor.Doctor;
import org.shardflake.doctor.Finding;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.AccountShards;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.MoveStep;
import org.shardflake.move.Mover;
import org.shardflake.move.server.MoveServer;
import org.shardflake.preflight.Preflight;
import org.shardflake.server.ServerUrl;

/** What readers of both servers get, through moves that succeed, fail and are interrupted. */
class ChangeStreamTest {

    private static final String SLOT = ChangeStream.SLOT_PREFIX + "test";

    /** When a look at the servers would take longer than the attempt may. */
    private static final Set<MoveStep> IN_PAUSE =
            EnumSet.of(MoveStep.ARMED, MoveStep.FENCED, MoveStep.DRAINED, MoveStep.STAGED);

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final AtomicReference<@Nullable MoveStep> failing = new AtomicReference<>();
    private final List<String> wrong = new ArrayList<>();
    private AccountShards shards;
    private ChangeStream stream;
    private Mover mover;
    private int note;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, 4, directory);
        stream = new ChangeStream(shards.catalogUrl(), server -> shards.url(server.name()), voice -> {});
        mover = shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public synchronized void reached(MoveStep step) {
                if (!IN_PAUSE.contains(step)) {
                    stream.status().stream()
                            .filter(status -> !status.isCurrent())
                            .forEach(status -> wrong.add("%s: %s".formatted(step, status)));
                }
                if (failing.compareAndSet(step, null)) {
                    throw new IllegalStateException("stopped by the test");
                }
            }
        });
        shards.execute(
                "db1",
                "INSERT INTO shard_0001.account (uid, note) SELECT 1 + 4 * n, 'before' FROM generate_series(1, 100) n");
    }

    @Test
    void eachChangeIsSentOnceByTheServerThatHasTheShard() throws SQLException {
        assertThat(stream.create()).allMatch(ChangeStreamStatus::isCurrent);
        createSlots();
        Move move = mover.record("db1", "db2", ShardSet.of(1, 2), "a test");
        write("db1");
        mover.follow(move.id());
        write("db1");
        failing.set(MoveStep.DRAINED);
        assertThatThrownBy(() -> mover.cutOver(move.id(), ShardSet.of(1))).hasMessage("stopped by the test");
        write("db1");
        failing.set(MoveStep.SWITCHED);
        assertThatThrownBy(() -> mover.cutOver(move.id(), ShardSet.of(1))).hasMessage("stopped by the test");
        mover.cutOver(move.id(), ShardSet.of(1));
        write("db2");
        mover.reverse(move.id(), ShardSet.of(1));
        write("db1");
        mover.cutOver(move.id(), ShardSet.of(1, 2));
        write("db2");
        mover.complete(move.id());
        write("db2");

        assertThat(wrong).isEmpty();
        assertThat(read("db1")).isEqualTo("row 1, row 2, leave 2, arrive 1, row 3, leave 2, arrive 3, row 5, leave 4");
        assertThat(read("db2")).isEqualTo("arrive 2, row 4, leave 3, arrive 4, row 6, row 7");
        assertThat(stream.status()).allMatch(ChangeStreamStatus::isCurrent);
    }

    @Test
    void whatIsOutOfStepIsNamedAndPutRight() throws Exception {
        shards.execute("db1", "CREATE TABLE shard_0003.keyless (note text)");
        assertThatThrownBy(() -> stream.create())
                .hasMessage(
                        "db1 has 1 table without a replica identity, of which no UPDATE and no DELETE can be sent: shard_0003.keyless");
        assertThat(stream.status()).noneMatch(ChangeStreamStatus::isThere);
        shards.execute("db1", "DROP TABLE shard_0003.keyless");
        stream.create();

        shards.execute("db1", "CREATE TABLE shard_0003.extra (id bigint PRIMARY KEY)");
        shards.execute(
                "db1",
                "ALTER PUBLICATION shardflake_cdc DROP TABLE shard_0001.account; SELECT shardflake.record_placement(2, 5, false); ALTER PUBLICATION shardflake_cdc ADD TABLE shard_0002.tag");
        assertThat(found())
                .containsExactlyInAnyOrder(
                        "publication shardflake_cdc lacks 4 tables of shards that are here, whose changes readers do not get: shard_0001.account");
        shards.execute("db1", "SELECT shardflake.complete_tables(3)");
        assertThat(found())
                .containsExactlyInAnyOrder(
                        "publication shardflake_cdc lacks 3 tables of shards that are here, whose changes readers do not get: shard_0001.account");
        shards.execute("db1", "SELECT shardflake.fence_shard(2)");
        assertThat(found())
                .containsExactlyInAnyOrder(
                        "publication shardflake_cdc lacks 1 table of shards that are here, whose changes readers do not get: shard_0001.account",
                        "publication shardflake_cdc has 1 table of shards that are elsewhere, whose changes readers get twice: shard_0002.tag");
        stream.create();
        assertThat(found()).isEmpty();
        shards.execute("db1", "SELECT shardflake.unfence_shard(2)");
        assertThat(stream.create()).allMatch(ChangeStreamStatus::isCurrent);
        assertThat(shards.number("db1", "SELECT epoch FROM shardflake.placement WHERE shard = 2 AND here"))
                .isEqualTo(1);

        shards.execute("db1", "SELECT pg_create_logical_replication_slot('%s', 'pgoutput')".formatted(SLOT));
        assertThat(preflight())
                .isEqualTo("db2 has no slot %s, so its reader would lose what is written there".formatted(SLOT));
        shards.execute("db2", "DROP PUBLICATION shardflake_cdc");
        assertThat(preflight()).isEqualTo("db2 has no publication of the change stream");
        assertThat(found()).containsExactly("has no publication shardflake_cdc, as others have");
        stream.drop();
        assertThat(found()).isEmpty();
        assertThat(preflight()).isEqualTo("none");
        assertThat(shards.leftovers("db1")).isZero();
    }

    @Test
    void whatWasPlacedByHandIsFoundAndPutRight() throws Exception {
        stream.create();
        Move move = mover.record("db1", "db2", ShardSet.of(3), "a test");
        mover.carryOut(move, false);
        // Of shard 2, no server remembers anything, and of shard 3 only db2, which was given it.
        String copy =
                "SELECT shardflake.create_shard(%1$s); CREATE TABLE shard_000%1$s.account (id bigint PRIMARY KEY); SELECT shardflake.complete_tables(%1$s)";
        shards.execute("db1", copy.formatted(3));
        shards.execute("db2", copy.formatted(2));
        assertThat(found())
                .containsExactlyInAnyOrder(
                        "publication shardflake_cdc has 1 table of shards that are elsewhere, whose changes readers get twice: shard_0002.account",
                        "publication shardflake_cdc has 1 table of shards that are elsewhere, whose changes readers get twice: shard_0003.account");
        stream.create();
        assertThat(found()).isEmpty();

        ShardMap map = shards.catalog().load();
        ShardMap wanted = ShardMap.of(
                map.version(),
                map.sharding(),
                map.layout(),
                map.servers(),
                shard -> shard < 2
                        ? map.placement(shard)
                        : new ShardPlacement(
                                shard,
                                map.server(shard == 2 ? "db2" : "db1"),
                                map.placement(shard).epoch()));
        shards.catalog().importMap(wanted, "a test", true);
        assertThat(found())
                .containsExactlyInAnyOrder(
                        "publication shardflake_cdc lacks 1 table of shards that are here, whose changes readers do not get: shard_0003.account",
                        "publication shardflake_cdc has 3 tables of shards that are elsewhere, whose changes readers get twice: shard_0002.account",
                        "publication shardflake_cdc lacks 1 table of shards that are here, whose changes readers do not get: shard_0002.account",
                        "publication shardflake_cdc has 3 tables of shards that are elsewhere, whose changes readers get twice: shard_0003.account");
        assertThat(stream.create()).allMatch(ChangeStreamStatus::isCurrent);
        assertThat(found()).isEmpty();
    }

    private List<String> found() throws InterruptedException {
        Map<String, ServerUrl> urls = Map.of("db1", shards.url("db1"), "db2", shards.url("db2"));
        return new Doctor(shards.catalogUrl(), urls, mover)
                .examine().stream()
                        .filter(finding -> finding.check().startsWith("change-stream"))
                        .map(Finding::found)
                        .toList();
    }

    private String preflight() throws SQLException {
        return Preflight.run(
                        new MoveServer("db1", shards.url("db1")),
                        new MoveServer("db2", shards.url("db2")),
                        ShardSet.of(1))
                .checks()
                .stream()
                .filter(check -> check.name().equals("change-stream"))
                .findFirst()
                .orElseThrow()
                .found();
    }

    private void createSlots() throws SQLException {
        for (String server : List.of("db1", "db2")) {
            shards.execute(server, "SELECT pg_create_logical_replication_slot('%s', 'pgoutput')".formatted(SLOT));
        }
    }

    private void write(String server) throws SQLException {
        shards.execute(server, "INSERT INTO shard_0001.account (uid, note) VALUES (1, 'row %s')".formatted(++note));
    }

    /** The notes of rows, and the journal of shard 1 without attempts that took too long. */
    private String read(String server) throws SQLException {
        List<String> events = new ArrayList<>();
        try (Connection connection = shards.database(server).connect()) {
            Sql.list(
                    connection,
                    "SELECT data FROM pg_logical_slot_get_binary_changes('%s', NULL, NULL, 'proto_version', '1', 'publication_names', 'shardflake_cdc', 'messages', 'true')"
                            .formatted(SLOT),
                    row -> events.add(event(row.getBytes(1))));
        }
        events.removeIf(String::isEmpty);
        return String.join(", ", events).replaceAll("(leave [0-9]+, arrive [0-9]+, )(?=leave)", "");
    }

    private static String event(byte... message) {
        String text = new String(message, ISO_8859_1); // as many characters as bytes
        return switch (message[0]) {
            case 'I', 'U', 'D' -> text.replaceAll("(?s).*(row [0-9]+|before).*", "$1");
            case 'M' -> {
                int prefix = text.indexOf("shardflake\0");
                int length = ByteBuffer.wrap(message).getInt(prefix + "shardflake\0".length());
                String content = new String(message, message.length - length, length, UTF_8);
                yield content.contains("\"shard\" : 1,")
                        ? content.replaceAll(".*\"epoch\" : ([0-9]+).*\"event\" : \"([a-z]+)\".*", "$2 $1")
                        : "";
            }
            default -> "";
        };
    }
}
