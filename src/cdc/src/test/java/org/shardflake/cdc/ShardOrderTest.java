/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.shardflake.ShardflakeException;
import org.shardflake.cdc.ShardOrder.Turn;

/** Records as Debezium makes them; that it does is tested with the sample. */
class ShardOrderTest {

    private static final Schema SOURCE =
            SchemaBuilder.struct().field("lsn", Schema.INT64_SCHEMA).build();
    private static final Schema KEY = SchemaBuilder.struct()
            .name("db1.shard_0007.account.Key")
            .field("id", Schema.INT64_SCHEMA)
            .build();
    private static final Schema ROW = SchemaBuilder.struct()
            .name("db1.shard_0007.account.Value")
            .optional()
            .field("id", Schema.INT64_SCHEMA)
            .build();
    private static final Schema CHANGE = SchemaBuilder.struct()
            .name("db1.shard_0007.account.Envelope")
            .field("op", Schema.STRING_SCHEMA)
            .field("after", ROW)
            .field("source", SOURCE)
            .build();
    private static final Schema CONTENT = SchemaBuilder.struct()
            .field("prefix", Schema.STRING_SCHEMA)
            .field("content", Schema.BYTES_SCHEMA)
            .build();
    private static final Schema MESSAGE = SchemaBuilder.struct()
            .field("message", CONTENT)
            .field("source", SOURCE)
            .build();

    private ShardOrder order = ShardOrder.parse("shardflake-order 1\nshards 0-9 1 db1 0/0");

    private static ShardRouting<SourceRecord> routing(String server) {
        ShardRouting<SourceRecord> routing = new ShardRouting<>();
        routing.configure(Map.of("server", server, "topic.prefix", "photos"));
        return routing;
    }

    private static SourceRecord change(String server, long lsn) {
        return change(server, lsn, Map.of());
    }

    private static SourceRecord change(String server, long lsn, Map<String, ?> offset) {
        Struct value = new Struct(CHANGE)
                .put("op", "c")
                .put("after", new Struct(ROW).put("id", 3L))
                .put("source", new Struct(SOURCE).put("lsn", lsn));
        return Objects.requireNonNull(routing(server)
                .apply(new SourceRecord(
                        Map.of(),
                        offset,
                        server + ".shard_0007.account",
                        KEY,
                        new Struct(KEY).put("id", 3L),
                        CHANGE,
                        value)));
    }

    private static @Nullable SourceRecord line(String server, long lsn, String content) {
        Struct value = new Struct(MESSAGE)
                .put(
                        "message",
                        new Struct(CONTENT)
                                .put("prefix", "shardflake")
                                .put("content", ByteBuffer.wrap(content.getBytes(UTF_8))))
                .put("source", new Struct(SOURCE).put("lsn", lsn));
        return routing(server)
                .apply(new SourceRecord(Map.of(), Map.of(), server + ".message", null, null, MESSAGE, value));
    }

    private static SourceRecord line(String server, long lsn, long epoch, String event, String handOver) {
        return Objects.requireNonNull(line(
                server,
                lsn,
                "{\"shard\" : 7, \"epoch\" : %s, \"event\" : \"%s\", \"handover\" : %s}"
                        .formatted(epoch, event, handOver)));
    }

    /** Also by a consumer that stores and restarts each time. */
    private Turn take(SourceRecord record) {
        Turn turn = order.take(record);
        String stored = order.toString();
        order = ShardOrder.parse(stored);
        assertThat(order).hasToString(stored);
        return turn;
    }

    @Test
    void whatAShardLeftBehindIsPastAndWhereItArrivedWaits() {
        assertThat(take(change("db1", 100))).isEqualTo(Turn.NOW);
        assertThat(take(line("db2", 50, 2, "arrive", "\"m1:1\""))).isEqualTo(Turn.LATER);
        // An attempt that was given up has the same epoch, and is not the one that db2 waits for.
        assertThat(take(line("db1", 110, 2, "leave", "\"m1:0\""))).isEqualTo(Turn.NOW);
        assertThat(take(line("db2", 50, 2, "arrive", "\"m1:1\""))).isEqualTo(Turn.LATER);
        assertThat(take(line("db1", 120, 1, "arrive", "null"))).isEqualTo(Turn.NOW);
        assertThat(take(change("db1", 130))).isEqualTo(Turn.NOW);
        assertThat(take(line("db1", 140, 2, "leave", "\"m1:1\""))).isEqualTo(Turn.NOW);
        assertThat(take(change("db1", 130))).isEqualTo(Turn.PAST);
        assertThat(take(line("db2", 50, 2, "arrive", "\"m1:1\""))).isEqualTo(Turn.NOW);
        assertThat(take(change("db2", 60))).isEqualTo(Turn.NOW);
        // A reverse, and db1 is read once more from the beginning.
        assertThat(take(line("db2", 70, 3, "leave", "\"m1:2\""))).isEqualTo(Turn.NOW);
        assertThat(take(line("db1", 200, 3, "arrive", "\"m1:2\""))).isEqualTo(Turn.NOW);
        assertThat(take(change("db1", 100))).isEqualTo(Turn.PAST);
        assertThat(take(line("db1", 140, 2, "leave", "\"m1:1\""))).isEqualTo(Turn.NOW);
        assertThat(take(change("db1", 210))).isEqualTo(Turn.NOW);
        assertThat(take(change("db2", 60))).isEqualTo(Turn.PAST);
    }

    /** Connect's converter writes headers as text, and reads them as the smallest types that hold them. */
    @Test
    void headersMayHaveBeenThroughKafka() {
        assertThat(take(throughKafka(change("db1", 100)))).isEqualTo(Turn.NOW);
        assertThat(take(throughKafka(line("db1", 140, 2, "leave", "\"m1:1\"")))).isEqualTo(Turn.NOW);
        assertThat(take(throughKafka(change("db1", 130)))).isEqualTo(Turn.PAST);
    }

    /** The epoch is that of the shard on the server which sent the change, and the number is there if Debezium counts. */
    @Test
    void aChangeHasTheEpochOfItsShard() {
        SourceRecord counted = change("db1", 100, Map.of("lsn_events_processed", 2L));
        assertThat(order.id(counted)).contains(new EventId(7, 1, 100, 2));
        assertThat(order.id(throughKafka(counted))).contains(new EventId(7, 1, 100, 2));
        assertThat(order.id(change("db2", 60)))
                .as("of a shard that is not there")
                .isEmpty();
        SourceRecord leave = line("db1", 140, 2, "leave", "\"m1:1\"");
        assertThat(order.id(leave)).isEmpty();
        order.take(leave);
        order.take(line("db2", 50, 2, "arrive", "\"m1:1\""));
        assertThat(order.id(change("db2", 60))).contains(new EventId(7, 2, 60, 0));
        assertThat(order.id(change("db2", 40))).as("from before it arrived").isEmpty();
        assertThat(order.id(counted)).isEmpty();
    }

    private static SourceRecord throughKafka(SourceRecord record) {
        SimpleHeaderConverter converter = new SimpleHeaderConverter();
        SourceRecord read = record.newRecord(
                record.topic(),
                record.kafkaPartition(),
                record.keySchema(),
                record.key(),
                record.valueSchema(),
                record.value(),
                record.timestamp(),
                new ConnectHeaders());
        for (Header header : record.headers()) {
            byte[] bytes = converter.fromConnectHeader(record.topic(), header.key(), header.schema(), header.value());
            read.headers().add(header.key(), converter.toConnectHeader(record.topic(), header.key(), bytes));
        }
        return read;
    }

    @Test
    void changesOutOfStepAreAnError() {
        assertThatThrownBy(() -> order.take(change("db2", 10)))
                .isInstanceOf(ChangesLostException.class)
                .hasMessageContaining("db2 sent a change of shard 7, which is db1's");
        assertThatThrownBy(() -> order.take(line("db2", 10, 2, "arrive", "null")))
                .isInstanceOf(ChangesLostException.class);
        order.take(line("db1", 20, 2, "leave", "\"m1:1\""));
        assertThatThrownBy(() -> order.take(change("db1", 30))).isInstanceOf(ChangesLostException.class);
        assertThatThrownBy(() -> ShardOrder.parse("shardflake-cdc 1"))
                .isInstanceOf(ShardflakeException.class)
                .hasMessageContaining("this is not the order of shards");
    }

    @Test
    void recordsLoseTheirServerAndKeepTheirShard() {
        SourceRecord change = change("db2", 10);
        assertThat(change.topic()).isEqualTo("photos.account");
        assertThat(((Struct) change.key()).getInt32("__shard")).isEqualTo(7);
        assertThat(change.keySchema().name()).isEqualTo("photos.account.Key");
        assertThat(change.valueSchema().name()).isEqualTo("photos.account.Envelope");
        assertThat(change.valueSchema().field("after").schema().name()).isEqualTo("photos.account.Value");
        assertThat(change.headers().lastWithName("shardflake.lsn").value()).isEqualTo(10L);

        SourceRecord tombstone = Objects.requireNonNull(routing("db2")
                .apply(new SourceRecord(
                        Map.of(),
                        Map.of("lsn", 10L),
                        "db2.shard_0007.account",
                        KEY,
                        new Struct(KEY).put("id", 3L),
                        null,
                        null)));
        assertThat(tombstone.headers().lastWithName("shardflake.lsn").value()).isEqualTo(10L);

        assertThat(line("db2", 10, "")).as("the empty message of a snapshot").isNull();
        SourceRecord other = new SourceRecord(Map.of(), Map.of(), "db2.public.country", null, "x");
        assertThat(routing("db2").apply(other)).isSameAs(other);
    }

    @Test
    void whatIsMissingIsSaid() {
        assertThatThrownBy(() -> new ShardRouting<SourceRecord>().configure(Map.of("topic.prefix", "photos")))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining("\"server\"");
        Struct value = new Struct(CHANGE).put("op", "c").put("source", new Struct(SOURCE).put("lsn", 1L));
        SourceRecord keyless =
                new SourceRecord(Map.of(), Map.of(), "db1.shard_0007.account", null, null, CHANGE, value);
        assertThatThrownBy(() -> routing("db1").apply(keyless))
                .isInstanceOf(DataException.class)
                .hasMessageContaining("set message.key.columns=shard_[0-9]+[.]account:");
    }
}
