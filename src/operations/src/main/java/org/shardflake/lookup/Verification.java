/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.shardflake.ShardKey;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.LookupEntry;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.SqlText;

/**
 * Compares a lookup with its rows, both ways: each claim that is good with its record, each record with its claim, and the records of a
 * shard with the shard's rows. What the application is just changing differs for a moment, and is looked at again. For many threads.
 */
final class Verification {

    private static final int PAGE = 1000;
    private static final int SHOWN = 100;
    private static final Poll AGAIN = Poll.everyMillis(200, Duration.ofSeconds(2));

    private static final String CLAIMS = """
            SELECT value, member, held_by_uid, held_by_id, token, state = 'held' FROM ${shard.schema}.shardflake_lookup
             WHERE lookup = ? AND (value, member) > (?, ?) ORDER BY value, member LIMIT ?
            """;
    private static final String IS_HELD =
            "SELECT EXISTS (SELECT FROM ${shard.schema}.shardflake_lookup WHERE lookup = ? AND value = ? AND member = ? AND token = ? AND state = 'held')";
    private static final String CLAIMED =
            "SELECT token FROM ${shard.schema}.shardflake_lookup WHERE lookup = ? AND value = ANY (?) AND token = ANY (?)";
    private static final String RECORDED =
            "SELECT token FROM ${shard.schema}.shardflake_lookup_owner WHERE token = ANY (?) AND NOT is_void";
    private static final String RECORDS =
            "SELECT token, value, held_by_uid, held_by_id FROM ${shard.schema}.shardflake_lookup_owner WHERE token > ? AND lookup = ? AND NOT is_void ORDER BY token LIMIT ?";

    /** The value as it is kept, or null if it cannot be. Of a long one only the length is fetched. */
    private static final String ROWS = """
            SELECT r.is_row, r.uid, r.id, CASE WHEN r.bytes BETWEEN 1 AND %5$s THEN r.kept END, r.bytes, o.value, o.held_by_uid, o.held_by_id
              FROM (SELECT true AS is_row, %1$s AS uid, %2$s AS id, octet_length(convert_to(%3$s, 'UTF8')) AS bytes, %4$s AS kept
                      FROM ${shard.schema}.%6$s WHERE %7$s IS NOT NULL) r
              FULL JOIN (SELECT value, held_by_uid, held_by_id FROM ${shard.schema}.shardflake_lookup_owner WHERE lookup = ? AND NOT is_void) o
                ON o.held_by_uid = r.uid AND o.held_by_id = r.id
            """;

    /** A claim, or the record of one. */
    private record Claim(String value, String member, LookupEntry holder, UUID token, boolean isHeld) {

        @Override
        public String toString() {
            return "value %s, of row %s of uid %s".formatted(value, holder.id(), holder.uid());
        }
    }

    private final LookupDefinition lookup;
    private final ShardRouter router;
    private final AtomicLong held = new AtomicLong();
    private final AtomicLong leftOver = new AtomicLong();
    private final AtomicLong differing = new AtomicLong();
    private final List<String> differences = new ArrayList<>();

    Verification(LookupDefinition lookup, ShardRouter router) {
        this.lookup = lookup;
        this.router = router;
    }

    LookupCheck result() {
        synchronized (differences) {
            return new LookupCheck(held.get(), leftOver.get(), List.copyOf(differences), differing.get());
        }
    }

    void run(int shard) throws SQLException {
        checkClaims(shard);
        if (lookup.source().isPresent()) {
            checkRows(shard, lookup.source().get());
        }
        checkRecords(shard);
    }

    private void differs(String what) {
        differing.incrementAndGet();
        synchronized (differences) {
            if (differences.size() < SHOWN) {
                differences.add(what);
            }
        }
    }

    /** Each claim that is held has a record. Others may be of transactions that have not ended. */
    private void checkClaims(int shard) throws SQLException {
        String value = "";
        String member = "";
        while (true) {
            List<Claim> claims = claims(shard, value, member);
            Map<Integer, List<Claim>> byOwner = new HashMap<>();
            for (Claim claim : claims) {
                byOwner.computeIfAbsent(router.map().shardOfUid(claim.holder().uid()), its -> new ArrayList<>())
                        .add(claim);
            }
            for (Map.Entry<Integer, List<Claim>> some : byOwner.entrySet()) {
                Set<UUID> recorded = recorded(some.getKey(), some.getValue());
                for (Claim claim : some.getValue()) {
                    if (!recorded.contains(claim.token())) {
                        checkUnrecorded(shard, some.getKey(), claim);
                    }
                }
            }
            if (claims.size() < PAGE) {
                return;
            }
            value = claims.get(claims.size() - 1).value();
            member = claims.get(claims.size() - 1).member();
        }
    }

    private List<Claim> claims(int shard, String value, String member) throws SQLException {
        return in(
                shard,
                connection -> Sql.list(
                        connection,
                        sql(shard, CLAIMS),
                        row -> new Claim(
                                row.getString(1),
                                row.getString(2),
                                new LookupEntry(row.getLong(3), row.getLong(4)),
                                row.getObject(5, UUID.class),
                                row.getBoolean(6)),
                        lookup.number(),
                        value,
                        member,
                        PAGE));
    }

    private void checkUnrecorded(int shard, int owner, Claim claim) throws SQLException {
        if (!claim.isHeld()) {
            leftOver.incrementAndGet();
            return;
        }
        boolean settled = AGAIN.until(() ->
                !is(shard, IS_HELD, claim) || recorded(owner, List.of(claim)).contains(claim.token()));
        if (!settled) {
            differs("%s, is claimed in shard %s, and shard %s knows nothing of it".formatted(claim, shard, owner));
        }
    }

    private boolean is(int shard, String question, Claim claim) throws SQLException {
        return in(
                shard,
                connection -> Sql.isTrue(
                        connection,
                        sql(shard, question),
                        lookup.number(),
                        claim.value(),
                        claim.member(),
                        claim.token()));
    }

    private Set<UUID> recorded(int owner, List<Claim> claims) throws SQLException {
        return in(
                owner,
                connection -> new HashSet<>(Sql.list(
                        connection,
                        sql(owner, RECORDED),
                        row -> row.getObject(1, UUID.class),
                        connection.createArrayOf(
                                "uuid", claims.stream().map(Claim::token).toArray()))));
    }

    /** The records of a shard, compared with its rows in one statement, so as of one moment. Neither side is kept in memory. */
    private void checkRows(int shard, LookupDefinition.Source source) throws SQLException {
        String form = "(%s::text)".formatted(SqlText.name(source.column()));
        if (lookup.ignoresCase()) {
            form = "lower(%s COLLATE \"C\")".formatted(form);
        }
        String kept = lookup.hashed() ? "encode(sha256(convert_to(%s, 'UTF8')), 'hex')".formatted(form) : form;
        String sql = sql(
                shard,
                ROWS.formatted(
                        SqlText.name(source.uidColumn()),
                        SqlText.name(source.idColumn()),
                        form,
                        kept,
                        lookup.hashed()
                                ? Long.toString(Long.MAX_VALUE)
                                : Integer.toString(LookupDefinition.LONGEST_VALUE),
                        SqlText.name(source.table()),
                        SqlText.name(source.column())));
        in(shard, connection -> {
            try (var statement = connection.prepareStatement(sql)) {
                statement.setFetchSize(PAGE);
                statement.setInt(1, lookup.number());
                try (var row = statement.executeQuery()) {
                    while (row.next()) {
                        compareRow(shard, row);
                    }
                }
            }
            return true;
        });
    }

    private void compareRow(int shard, ResultSet row) throws SQLException {
        boolean isRow = row.getBoolean(1);
        String its = "row %s of uid %s in shard %s".formatted(row.getLong(3), row.getLong(2), shard);
        String kept = row.getString(4);
        String recorded = row.getString(6);
        if (!isRow) {
            differs("value %s, of row %s of uid %s, is held in shard %s by a row that has no value"
                    .formatted(recorded, row.getLong(8), row.getLong(7), shard));
        } else if (kept == null) {
            differs(String.format(
                    Locale.ROOT,
                    "%s cannot be found: its value has %,d bytes, and 1 to %,d are allowed",
                    its,
                    row.getLong(5),
                    LookupDefinition.LONGEST_VALUE));
        } else if (recorded == null) {
            differs("%s has not claimed its value %s".formatted(its, kept));
        } else if (!recorded.equals(kept)) {
            differs("value %s, of row %s of uid %s, is held in shard %s, where the row has %s"
                    .formatted(recorded, row.getLong(8), row.getLong(7), shard, kept));
        }
    }

    /** Each record has a claim with its token. */
    private void checkRecords(int shard) throws SQLException {
        UUID last = new UUID(0, 0);
        List<Claim> records;
        do {
            records = records(shard, last);
            held.addAndGet(records.size());
            Map<Integer, List<Claim>> byShard = new HashMap<>();
            for (Claim record : records) {
                byShard.computeIfAbsent(shardOf(record.value()), its -> new ArrayList<>())
                        .add(record);
                last = record.token();
            }
            for (Map.Entry<Integer, List<Claim>> some : byShard.entrySet()) {
                Set<UUID> claimed = claimed(some.getKey(), some.getValue());
                for (Claim record : some.getValue()) {
                    if (!claimed.contains(record.token())) {
                        checkUnclaimed(shard, some.getKey(), record);
                    }
                }
            }
        } while (records.size() == PAGE);
    }

    private List<Claim> records(int shard, UUID after) throws SQLException {
        return in(
                shard,
                connection -> Sql.list(
                        connection,
                        sql(shard, RECORDS),
                        row -> record(row.getObject(1, UUID.class), row.getString(2), row.getLong(3), row.getLong(4)),
                        after,
                        lookup.number(),
                        PAGE));
    }

    private Claim record(UUID token, String value, long uid, long id) {
        return new Claim(value, lookup.unique() ? "" : uid + " " + id, new LookupEntry(uid, id), token, true);
    }

    private Set<UUID> claimed(int values, List<Claim> records) throws SQLException {
        return in(
                values,
                connection -> new HashSet<>(Sql.list(
                        connection,
                        sql(values, CLAIMED),
                        row -> row.getObject(1, UUID.class),
                        lookup.number(),
                        connection.createArrayOf(
                                "text", records.stream().map(Claim::value).toArray()),
                        connection.createArrayOf(
                                "uuid", records.stream().map(Claim::token).toArray()))));
    }

    private void checkUnclaimed(int shard, int values, Claim record) throws SQLException {
        boolean settled = AGAIN.until(() -> claimed(values, List.of(record)).contains(record.token())
                || !recorded(shard, List.of(record)).contains(record.token()));
        if (!settled) {
            differs("%s, is held in shard %s, and not claimed in shard %s".formatted(record, shard, values));
        }
    }

    /** A hashed value begins with the hash that leads to its shard. */
    private int shardOf(String kept) {
        return lookup.hashed()
                ? router.map().shardOfUid(Long.parseUnsignedLong(kept.substring(0, 16), 16))
                : router.locate(ShardKey.uid(kept)).shard();
    }

    private static String sql(int shard, String template) {
        return template.replace("${shard.schema}", String.format(Locale.ROOT, "shard_%04d", shard));
    }

    /** A write, whose commit asks whether the shard is still here: a read may be of a copy that was left behind. */
    private <T> T in(int shard, Sql.Query<T> query) throws SQLException {
        return router.<T, SQLException>write(ShardKey.shard(shard), tx -> query.run(tx.connection()));
    }
}
