/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.shardflake.IdLayout;
import org.shardflake.jdbc.Sql;

/** Whether the rows of a table can live in those of the shards. */
final class TableChecks {

    private final TableFacts old;
    private final TableFacts shard;
    private final Column key;

    TableChecks(TableFacts old, TableFacts shard, Column key) {
        this.old = old;
        this.shard = shard;
        this.key = key;
    }

    static void checkKind(TableFacts table) {
        if (!table.kind().equals("r") || table.hasChildren()) {
            throw new AdoptRefusedException(
                    "%s is not a plain table: it has partitions or children, or is a view or foreign"
                            .formatted(table.name()),
                    "adopt tables that have their rows themselves; bring those of partitions together in one table first");
        }
        if (table.primaryKey().isEmpty()) {
            throw new AdoptRefusedException(
                    "%s has no primary key".formatted(table.name()),
                    "give it one: rows are copied in its order, and told apart by it");
        }
    }

    void checkColumns() {
        for (Column column : old.columns()) {
            Column target = shard.column(column.name()).orElse(null);
            if (target == null && column.generated()) {
                continue;
            }
            if (target == null) {
                throw schemaDiffers("it has no column " + column.name());
            }
            if (!target.generated() && !target.takes(column)) {
                throw schemaDiffers(
                        "its column %s is of type %s, not %s".formatted(column.name(), target.type(), column.type()));
            }
        }
        for (Column column : shard.columns()) {
            if (old.column(column.name()).isEmpty() && !column.generated() && !column.mayBeLeftOut()) {
                throw schemaDiffers("its column %s is NOT NULL without a default".formatted(column.name()));
            }
        }
        if (!shard.primaryKey().equals(old.primaryKey())) {
            throw schemaDiffers("its primary key is (%s), not (%s)"
                    .formatted(String.join(", ", shard.primaryKey()), String.join(", ", old.primaryKey())));
        }
    }

    private AdoptRefusedException schemaDiffers(String how) {
        return new AdoptRefusedException(
                "%s cannot take the rows of %s: %s".formatted(shard.name(), old.name(), how),
                "change it on all shards with shardflake schema deploy");
    }

    /** Those that are brought over: what the shards compute themselves is left out. */
    List<Column> broughtOver() {
        return old.columns().stream()
                .filter(column -> shard.column(column.name())
                        .filter(target -> !target.generated())
                        .isPresent())
                .toList();
    }

    void checkNulls(Connection connection) throws SQLException {
        if (hasNull(connection, key)) {
            throw new AdoptRefusedException(
                    "%s has rows whose %s is null, and no shard".formatted(old.name(), key.name()),
                    "fill it in, and make the column NOT NULL");
        }
        for (Column column : broughtOver()) {
            if (shard.column(column.name()).orElseThrow().notNull() && hasNull(connection, column)) {
                throw schemaDiffers("its column %s is NOT NULL, and there are rows without".formatted(column.name()));
            }
        }
    }

    private boolean hasNull(Connection connection, Column column) throws SQLException {
        String sql = "SELECT EXISTS (SELECT FROM ONLY %s WHERE %s IS NULL)".formatted(old.name(), column.quoted());
        return !column.notNull() && Sql.isTrue(connection, sql);
    }

    /** New ids must neither meet old ones nor come before them. */
    void checkNewIdsAreAbove(Connection connection, IdLayout layout) throws SQLException {
        if (!shard.newIds() || old.primaryKey().size() != 1) {
            return;
        }
        Column id = old.column(old.primaryKey().get(0)).orElseThrow();
        long highest =
                Sql.number(connection, "SELECT COALESCE(max(%s), 0) FROM ONLY %s".formatted(id.quoted(), old.name()));
        Instant now = Instant.now();
        long next = layout.minId(now);
        if (highest >= next) {
            Instant epoch = now.minusMillis(IdLayout.elapsedMillis(highest)).minusSeconds(3600);
            throw new AdoptRefusedException(
                    "ids of %s go up to %d, and new ones would begin at %d: they would meet"
                            .formatted(old.name(), highest, next),
                    "begin an installation whose ids count from an earlier moment: shardflake init --epoch %s or before"
                            .formatted(epoch.toString().substring(0, 10) + "T00:00:00Z"));
        }
    }

    /** What will be different for the application. */
    List<String> warnings() {
        List<String> warnings = new ArrayList<>();
        for (List<String> unique : shard.uniqueKeys()) {
            boolean isNewId = unique.equals(shard.primaryKey()) && shard.newIds();
            if (!isNewId && !unique.contains(key.name())) {
                warnings.add("(%s) will be unique within a shard, not over all of them"
                        .formatted(String.join(", ", unique)));
            }
        }
        if (shard.newIds()) {
            warnings.add("ids from before say nothing of their shard: look such rows up by %s".formatted(key.name()));
        }
        shard.column(shard.primaryKey().get(0))
                .filter(id -> shard.primaryKey().size() == 1 && id.filled() && !shard.newIds())
                .ifPresent(id -> warnings.add(
                        "new values of %s in a shard come from its own default, not from next_id, and may meet those brought over"
                                .formatted(id.name())));
        return warnings;
    }
}
