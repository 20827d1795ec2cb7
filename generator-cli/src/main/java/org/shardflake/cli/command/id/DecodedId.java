/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import org.shardflake.IdLayout;
import org.shardflake.Sharding;
import org.shardflake.cli.output.IsoTime;
import org.shardflake.cli.output.OutputFormat;

/**
 * Writes a decoded id as text or JSON.
 *
 * <p>It goes straight to the caller's buffer, allocates almost nothing and loads no library, since {@code id decode} starts often and
 * processes ids by the million.
 */
final class DecodedId {

    private static final int TIME_COLUMN = 22;
    private static final int SHARD_COLUMN = TIME_COLUMN + 26;
    private static final int SEQUENCE_COLUMN = SHARD_COLUMN + 7;
    private static final int SCHEMA_COLUMN = SEQUENCE_COLUMN + 10;

    private DecodedId() {}

    static void appendHeader(StringBuilder out) {
        int start = out.length();
        pad(out.append("ID"), start + TIME_COLUMN);
        pad(out.append("TIME"), start + SHARD_COLUMN);
        pad(out.append("SHARD"), start + SEQUENCE_COLUMN);
        pad(out.append("SEQUENCE"), start + SCHEMA_COLUMN);
        out.append("SCHEMA\n");
    }

    static void append(StringBuilder out, IdLayout layout, long id, OutputFormat format) {
        switch (format) {
            case TABLE -> appendRow(out, layout, id);
            case JSON -> appendJson(out, layout, id);
            case YAML -> appendYaml(out, layout, id);
        }
    }

    private static void appendRow(StringBuilder out, IdLayout layout, long id) {
        int start = out.length();
        pad(out.append(id), start + TIME_COLUMN);
        pad(IsoTime.append(out, layout.timeMillis(id)), start + SHARD_COLUMN);
        pad(out.append(IdLayout.shard(id)), start + SEQUENCE_COLUMN);
        pad(out.append(IdLayout.sequence(id)), start + SCHEMA_COLUMN);
        out.append(Sharding.schema(IdLayout.shard(id))).append('\n');
    }

    private static void appendJson(StringBuilder out, IdLayout layout, long id) {
        out.append("{\"id\":\"").append(id).append("\",\"time\":\"");
        IsoTime.append(out, layout.timeMillis(id));
        out.append("\",\"timeMillis\":").append(layout.timeMillis(id));
        out.append(",\"shard\":").append(IdLayout.shard(id));
        out.append(",\"sequence\":").append(IdLayout.sequence(id));
        out.append(",\"schema\":\"").append(Sharding.schema(IdLayout.shard(id))).append("\"}\n");
    }

    private static void appendYaml(StringBuilder out, IdLayout layout, long id) {
        out.append("- id: \"").append(id).append("\"\n  time: \"");
        IsoTime.append(out, layout.timeMillis(id));
        out.append("\"\n  timeMillis: ").append(layout.timeMillis(id));
        out.append("\n  shard: ").append(IdLayout.shard(id));
        out.append("\n  sequence: ").append(IdLayout.sequence(id));
        out.append("\n  schema: \"").append(Sharding.schema(IdLayout.shard(id))).append("\"\n");
    }

    private static void pad(StringBuilder out, int length) {
        while (out.length() < length) {
            out.append(' ');
        }
    }
}
