/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Decodes the messages of PostgreSQL's plugin pgoutput, in protocol version 1. For one connection. */
final class Decoder {

    static final String PREFIX = "shardflake";

    private static final Instant EPOCH = Instant.parse("2000-01-01T00:00:00Z");

    private final Map<Integer, Message.Table> tables = new HashMap<>();

    Message decode(ByteBuffer bytes) {
        byte type = bytes.get();
        return switch (type) {
            case 'B' ->
                new Message.Begin(bytes.getLong(), EPOCH.plus(bytes.getLong(), ChronoUnit.MICROS), bytes.getInt());
            case 'C' -> {
                bytes.get();
                bytes.getLong();
                yield new Message.Commit(bytes.getLong());
            }
            case 'R' -> table(bytes);
            case 'I' -> {
                Message.Table table = find(bytes.getInt());
                bytes.get();
                yield new Message.Row(Change.Kind.INSERT, table, tuple(bytes, table, false), Map.of());
            }
            case 'U' -> update(bytes);
            case 'D' -> {
                Message.Table table = find(bytes.getInt());
                boolean isKey = bytes.get() == 'K';
                yield new Message.Row(Change.Kind.DELETE, table, Map.of(), tuple(bytes, table, isKey));
            }
            case 'T' -> {
                int count = bytes.getInt();
                bytes.get();
                List<Message.Table> emptied = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    emptied.add(find(bytes.getInt()));
                }
                yield new Message.Truncate(emptied);
            }
            case 'M' -> {
                bytes.get();
                bytes.getLong();
                String prefix = text(bytes);
                byte[] content = new byte[bytes.getInt()];
                bytes.get(content);
                yield prefix.equals(PREFIX) && content.length > 0
                        ? new Message.Journal(new String(content, UTF_8))
                        : new Message.Other();
            }
            default -> new Message.Other(); // origins and types
        };
    }

    private Message.Table table(ByteBuffer bytes) {
        int relation = bytes.getInt();
        String schema = text(bytes);
        String name = text(bytes);
        bytes.get();
        int count = bytes.getShort();
        List<String> columns = new ArrayList<>();
        List<Boolean> keys = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            keys.add((bytes.get() & 1) == 1);
            columns.add(text(bytes));
            bytes.getInt();
            bytes.getInt();
        }
        Message.Table table = new Message.Table(relation, schema, name, columns, keys);
        tables.put(relation, table);
        return table;
    }

    private Message.Table find(int relation) {
        Message.Table table = tables.get(relation);
        if (table == null) {
            throw new IllegalStateException("the server did not describe table " + relation);
        }
        return table;
    }

    private Message.Row update(ByteBuffer bytes) {
        Message.Table table = find(bytes.getInt());
        byte which = bytes.get();
        Map<String, @Nullable String> key = Map.of();
        if (which != 'N') {
            key = tuple(bytes, table, which == 'K');
            bytes.get();
        }
        Map<String, @Nullable String> row = tuple(bytes, table, false);
        if (which == 'N') { // The key is as it was.
            key = new LinkedHashMap<>();
            for (int i = 0; i < table.columns().size(); i++) {
                String column = table.columns().get(i);
                if (table.keys().get(i) && row.containsKey(column)) {
                    key.put(column, row.get(column));
                }
            }
        }
        return new Message.Row(Change.Kind.UPDATE, table, row, key);
    }

    /** The values by column, without large values that an update left unchanged and that are stored separately. */
    private static Map<String, @Nullable String> tuple(ByteBuffer bytes, Message.Table table, boolean onlyKey) {
        Map<String, @Nullable String> values = new LinkedHashMap<>();
        int count = bytes.getShort();
        for (int i = 0; i < count; i++) {
            byte kind = bytes.get();
            String column = table.columns().get(i);
            boolean isWanted = !onlyKey || table.keys().get(i);
            if (kind == 'n') {
                if (isWanted) {
                    values.put(column, null);
                }
            } else if (kind == 't') {
                byte[] value = new byte[bytes.getInt()];
                bytes.get(value);
                if (isWanted) {
                    values.put(column, new String(value, UTF_8));
                }
            }
        }
        return values;
    }

    private static String text(ByteBuffer bytes) {
        int start = bytes.position();
        int length = 0;
        while (bytes.get() != 0) {
            length++;
        }
        byte[] text = new byte[length];
        bytes.get(start, text);
        return new String(text, UTF_8);
    }
}
