/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.header.Headers;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.jspecify.annotations.Nullable;
import org.shardflake.IdLayout;

/**
 * A transformation for Debezium's PostgreSQL connector; there is one connector per server. Changes of table {@code account} in any shard go to
 * topic {@code <topic.prefix>.account}, and the journal goes to {@code <topic.prefix>.shardflake_journal}.
 *
 * <p>Keys get the shard as their first field, {@code __shard}, since natural keys may be the same in several shards. Schemas of Connect lose the shard
 * and the server in their names. Each record gets the headers {@code shardflake.server}, {@code shardflake.shard} (32 bits) and
 * {@code shardflake.lsn}, the position of the change in that server's log in bytes (64 bits). Debezium 3.7 and newer count the
 * changes of one position: theirs get {@code shardflake.number} (64 bits), too. Records that are not of a shard pass as they are.
 *
 * <p>It keeps no state, so an engine may call it from several threads.
 */
public final class ShardRouting<R extends ConnectRecord<R>> implements Transformation<R> {

    static final String SERVER = "shardflake.server";
    static final String SHARD = "shardflake.shard";
    static final String LSN = "shardflake.lsn";
    static final String NUMBER = "shardflake.number";
    static final String JOURNAL = "shardflake_journal";

    private static final String KEY = "__shard";
    private static final String SCHEMA = ".shard_";
    private static final int DIGITS = 4;
    private static final String MESSAGES = ".message";

    /** Debezium's count of the changes of one position, from 1, which it keeps with its offsets. */
    private static final String COUNT = "lsn_events_processed";

    private static final ConfigDef CONFIG = new ConfigDef()
            .define(
                    "server",
                    ConfigDef.Type.STRING,
                    ConfigDef.NO_DEFAULT_VALUE,
                    new ConfigDef.NonEmptyString(),
                    ConfigDef.Importance.HIGH,
                    "Name of the server that this connector reads, as in the shard map")
            .define(
                    "topic.prefix",
                    ConfigDef.Type.STRING,
                    ConfigDef.NO_DEFAULT_VALUE,
                    new ConfigDef.NonEmptyString(),
                    ConfigDef.Importance.HIGH,
                    "What the names of topics begin with, the same for all servers");

    private static final Schema JOURNAL_KEY = SchemaBuilder.struct()
            .name("shardflake.journal.Key")
            .field(KEY, Schema.INT32_SCHEMA)
            .build();

    private static final Schema JOURNAL_VALUE = SchemaBuilder.struct()
            .name("shardflake.journal.Value")
            .field("shard", Schema.INT32_SCHEMA)
            .field("epoch", Schema.INT64_SCHEMA)
            .field("event", Schema.STRING_SCHEMA)
            .field("handover", Schema.OPTIONAL_STRING_SCHEMA)
            .build();

    private final Map<Schema, Schema> keys = new ConcurrentHashMap<>();
    private final Map<Schema, Schema> values = new ConcurrentHashMap<>();
    private String server = "";
    private String prefix = "";

    @Override
    public void configure(Map<String, ?> settings) {
        AbstractConfig config = new AbstractConfig(CONFIG, settings, false);
        server = config.getString("server");
        prefix = config.getString("topic.prefix");
    }

    @Override
    public ConfigDef config() {
        return CONFIG;
    }

    @Override
    public @Nullable R apply(R record) {
        String topic = record.topic();
        for (int at = topic.lastIndexOf(SCHEMA); at >= 0; at = topic.lastIndexOf(SCHEMA, at - 1)) {
            int shard = shard(topic, at + SCHEMA.length());
            if (shard >= 0 && shard <= IdLayout.MAX_SHARD) {
                return change(record, shard, topic.substring(at + SCHEMA.length() + DIGITS + 1));
            }
        }
        if (record.topic().endsWith(MESSAGES)
                && record.value() instanceof Struct value
                && value.schema().field("message") != null) {
            return message(record, value.getStruct("message"));
        }
        return record;
    }

    /** The number of four digits from there on, if a dot and a name follow; otherwise -1. Called for each change, so it uses no expression. */
    private static int shard(String topic, int from) {
        int end = from + DIGITS;
        if (end + 1 >= topic.length() || topic.charAt(end) != '.') {
            return -1;
        }
        int shard = 0;
        for (int i = from; i < end; i++) {
            char digit = topic.charAt(i);
            if (digit < '0' || digit > '9') {
                return -1;
            }
            shard = 10 * shard + digit - '0';
        }
        return shard;
    }

    private R change(R record, int shard, String table) {
        String name = "%s.%s".formatted(prefix, table);
        Schema keySchema = record.keySchema();
        Object key = record.key();
        if (key instanceof Struct old) {
            keySchema = keys.computeIfAbsent(old.schema(), schema -> keySchema(schema, name));
            Struct its = new Struct(keySchema).put(KEY, shard);
            old.schema().fields().forEach(field -> its.put(field.name(), old.get(field)));
            key = its;
        } else if (record.value() instanceof Struct row && !isTruncate(row)) {
            // Debezium asks the database for keys when it comes to a change: a move may have removed the table by then.
            throw new DataException(
                    "a change of table %s of shard %s came without a key, as its primary key is not there any more; set message.key.columns=shard_[0-9]+[.]%s:<columns of the key> and restart the connector"
                            .formatted(table, shard, table));
        }
        Schema valueSchema = record.valueSchema();
        Object value = record.value();
        if (value instanceof Struct old) {
            valueSchema = values.computeIfAbsent(old.schema(), schema -> renamed(schema, name, true));
            value = copy(old, valueSchema, true);
        }
        Headers headers = headers(record, shard);
        if (record instanceof SourceRecord source && source.sourceOffset().get(COUNT) instanceof Number number) {
            headers.addLong(NUMBER, number.longValue());
        }
        return record.newRecord(
                name, record.kafkaPartition(), keySchema, key, valueSchema, value, record.timestamp(), headers);
    }

    /** The record for a message in the log: a line of the journal, null for an empty line, and messages of other programs unchanged. */
    private @Nullable R message(R record, Struct message) {
        if (!Decoder.PREFIX.equals(message.getString("prefix"))) {
            return record;
        }
        String content = text(message.get("content"));
        if (content.isEmpty()) {
            return null;
        }
        Journal line = Journal.parse(content);
        Struct value = new Struct(JOURNAL_VALUE)
                .put("shard", line.shard())
                .put("epoch", line.epoch())
                .put("event", line.arrives() ? "arrive" : "leave")
                .put("handover", line.handOver().orElse(null));
        return record.newRecord(
                "%s.%s".formatted(prefix, JOURNAL),
                record.kafkaPartition(),
                JOURNAL_KEY,
                new Struct(JOURNAL_KEY).put(KEY, line.shard()),
                JOURNAL_VALUE,
                value,
                record.timestamp(),
                headers(record, line.shard()));
    }

    static boolean isJournal(ConnectRecord<?> record) {
        return record.valueSchema() != null
                && JOURNAL_VALUE.name().equals(record.valueSchema().name());
    }

    static Journal journal(Struct value) {
        return new Journal(
                value.getInt32("shard"),
                value.getInt64("epoch"),
                value.getString("event").equals("arrive"),
                Optional.ofNullable(value.getString("handover")));
    }

    private static String text(Object content) {
        if (content instanceof ByteBuffer bytes) {
            return UTF_8.decode(bytes.duplicate()).toString();
        }
        if (content instanceof byte[] bytes) {
            return new String(bytes, UTF_8);
        }
        throw new DataException("the journal needs binary.handling.mode=bytes, and came as text");
    }

    private Headers headers(R record, int shard) {
        Headers headers = record.headers().duplicate();
        headers.addString(SERVER, server);
        headers.addInt(SHARD, shard);
        Object lsn = null;
        if (record.value() instanceof Struct value
                && value.schema().field("source") != null
                && value.getStruct("source").schema().field("lsn") != null) {
            lsn = value.getStruct("source").get("lsn");
        } else if (record instanceof SourceRecord source) { // of a tombstone
            lsn = source.sourceOffset().get("lsn");
        }
        if (lsn instanceof Number number) {
            headers.addLong(LSN, number.longValue());
        }
        return headers;
    }

    private static boolean isTruncate(Struct value) {
        return value.schema().field("op") != null && "t".equals(value.get("op"));
    }

    private static Schema keySchema(Schema old, String name) {
        SchemaBuilder builder = SchemaBuilder.struct().name(name + ".Key").field(KEY, Schema.INT32_SCHEMA);
        old.fields().forEach(field -> builder.field(field.name(), field.schema()));
        return builder.build();
    }

    /** A schema with names that are the same for all shards and servers. */
    private static Schema renamed(Schema old, String name, boolean hasRows) {
        String its = old.name();
        SchemaBuilder builder = SchemaBuilder.struct()
                .name(its == null ? null : name + its.substring(its.lastIndexOf('.')))
                .version(old.version())
                .doc(old.doc());
        if (old.isOptional()) {
            builder.optional();
        }
        for (Field field : old.fields()) {
            builder.field(
                    field.name(), hasRows && isRow(field) ? renamed(field.schema(), name, false) : field.schema());
        }
        return builder.build();
    }

    private static Struct copy(Struct old, Schema schema, boolean hasRows) {
        Struct its = new Struct(schema);
        for (Field field : schema.fields()) {
            Object value = old.get(field.name());
            its.put(
                    field,
                    hasRows && isRow(field) && value instanceof Struct row ? copy(row, field.schema(), false) : value);
        }
        return its;
    }

    private static boolean isRow(Field field) {
        return (field.name().equals("before") || field.name().equals("after"))
                && field.schema().type() == Schema.Type.STRUCT;
    }

    @Override
    public void close() {
        keys.clear();
        values.clear();
    }
}
