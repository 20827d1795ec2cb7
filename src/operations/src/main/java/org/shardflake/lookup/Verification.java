/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardflakeException;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.LookupEntry;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.SqlText;

/**
 * Compares a lookup with its rows in both directions: each valid claim with its record, each record with its claim, and the records of a shard
 * with its rows. What the application is just changing differs for a moment, and is looked at again. Takes as much memory for many rows as for
 * few. For many threads.
 */
final class Verification {

    private static final int PAGE = 1000;
    private static final int NAMED = 1000;
    private static final Poll AGAIN = Poll.everyMillis(200, Duration.ofSeconds(2));

    private static final String CLAIMS = """
            SELECT value, member, held_by_uid, held_by_id, token, state = 'held' FROM ${shard.schema}.shardflake_lookup
             WHERE lookup = ? AND (value, member) > (?, ?) ORDER BY value, member LIMIT ?
            """;
    private static final String STILL_HELD =
            "SELECT token FROM ${shard.schema}.shardflake_lookup WHERE lookup = ? AND value = ANY (?) AND token = ANY (?) AND state = 'held'";
    private static final String CLAIMED =
            "SELECT token FROM ${shard.schema}.shardflake_lookup WHERE lookup = ? AND value = ANY (?) AND token = ANY (?)";
    private static final String RECORDED =
            "SELECT token FROM ${shard.schema}.shardflake_lookup_owner WHERE token = ANY (?) AND NOT is_void";
    private static final String RECORDS =
            "SELECT token, value, held_by_uid, held_by_id FROM ${shard.schema}.shardflake_lookup_owner WHERE token > ? AND lookup = ? AND NOT is_void ORDER BY token LIMIT ?";

    /** Reads rows with the stored form of their value, null if the value cannot be stored. Of a long one only the length is fetched. */
    private static final String ROWS = """
            SELECT r.is_row, r.uid, r.id, CASE WHEN r.bytes BETWEEN 1 AND %5$s THEN r.kept END, r.bytes, o.value, o.held_by_uid, o.held_by_id
              FROM (SELECT true AS is_row, %1$s AS uid, %2$s AS id, octet_length(convert_to(%3$s, 'UTF8')) AS bytes, %4$s AS kept
                      FROM ${shard.schema}.%6$s WHERE %7$s IS NOT NULL) r
              FULL JOIN (SELECT value, held_by_uid, held_by_id FROM ${shard.schema}.shardflake_lookup_owner WHERE lookup = ? AND NOT is_void) o
                ON o.held_by_uid = r.uid AND o.held_by_id = r.id
            """;

    /** A claim, or its record. */
    private record Claim(String value, String member, LookupEntry holder, UUID token, boolean isHeld) {

        @Override
        public String toString() {
            return "value %s, of row %s of uid %s".formatted(value, holder.id(), holder.uid());
        }
    }

    /** The differences found, of which the first are named. */
    private static final class Found {

        private final List<String> named = new ArrayList<>();
        private long count;

        synchronized void add(String what) {
            count++;
            if (named.size() < NAMED) {
                named.add(what);
            }
        }

        synchronized void add(Found others) {
            count += others.count;
            named.addAll(others.named.subList(0, Math.min(others.named.size(), NAMED - named.size())));
        }
    }

    private final LookupDefinition lookup;
    private final ShardRouter router;
    private final ShardCatalog catalog;
    private final AtomicLong held = new AtomicLong();
    private final AtomicLong leftOver = new AtomicLong();
    private final Found found = new Found();

    Verification(LookupDefinition lookup, ShardRouter router, ShardCatalog catalog) {
        this.lookup = lookup;
        this.router = router;
        this.catalog = catalog;
    }

    /** @param failure why not everything was compared */
    LookupCheck result(Optional<String> failure) {
        synchronized (found) {
            return new LookupCheck(held.get(), leftOver.get(), List.copyOf(found.named), found.count, failure);
        }
    }

    void run(int shard) throws SQLException {
        checkClaims(shard);
        if (lookup.source().isPresent()) {
            checkRows(shard, lookup.source().get());
        }
        checkRecords(shard);
    }

    /** Checks that each held claim has a record. Others may be of transactions that have not ended. */
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
                List<Claim> unrecorded = new ArrayList<>(some.getValue());
                unrecorded.removeIf(isIn(recorded));
                checkUnrecorded(shard, some.getKey(), unrecorded);
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

    private void checkUnrecorded(int shard, int owner, List<Claim> unrecorded) throws SQLException {
        List<Claim> unsettled =
                unrecorded.stream().filter(Claim::isHeld).collect(Collectors.toCollection(ArrayList::new));
        leftOver.addAndGet(unrecorded.size() - unsettled.size());
        lookAgain(unsettled, () -> {
            unsettled.removeIf(isIn(claimed(shard, STILL_HELD, unsettled)).negate());
            unsettled.removeIf(isIn(recorded(owner, unsettled)));
        });
        for (Claim claim : unsettled) {
            found.add("%s, is claimed in shard %s, and shard %s knows nothing of it".formatted(claim, shard, owner));
        }
    }

    /** Removes the claims that are settled; called again while some are left. */
    @FunctionalInterface
    private interface Look {
        void again() throws SQLException;
    }

    /** Checks all unsettled claims again, together, however many there are. */
    private static void lookAgain(List<Claim> unsettled, Look look) throws SQLException {
        if (!unsettled.isEmpty()) {
            AGAIN.until(() -> {
                look.again();
                return unsettled.isEmpty();
            });
        }
    }

    private static Predicate<Claim> isIn(Set<UUID> tokens) {
        return claim -> tokens.contains(claim.token());
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

    /** Compares the records of a shard with its rows in one statement, and so as of one moment. Neither side is kept in memory. */
    private void checkRows(int shard, LookupDefinition.Source source) throws SQLException {
        String form = "(%s::text)".formatted(SqlText.name(source.column()));
        if (lookup.ignoresCase()) {
            form = "lower(%s COLLATE \"C\")".formatted(form);
        }
        String kept = lookup.hashed() ? "encode(sha256(convert_to(%s, 'UTF8')), 'hex')".formatted(form) : form;
        // The shard first: a name may have what stands for it.
        String sql = sql(shard, ROWS)
                .formatted(
                        SqlText.name(source.uidColumn()),
                        SqlText.name(source.idColumn()),
                        form,
                        kept,
                        lookup.hashed()
                                ? Long.toString(Long.MAX_VALUE)
                                : Integer.toString(LookupDefinition.LONGEST_VALUE),
                        SqlText.name(source.table()),
                        SqlText.name(source.column()));
        Attempt last = new Attempt();
        try {
            router.<SQLException>run(ShardKey.shard(shard), tx -> {
                last.begin(tx.placement());
                ShardReads.run(tx, () -> {
                    compareRows(tx.connection(), sql, shard, last.found);
                    return true;
                });
            });
        } catch (SQLException | RuntimeException e) {
            keepIfNotMoved(shard, last, e);
            throw e;
        }
        found.add(last.found);
    }

    /** The findings of one transaction, held back until it is certain that the transaction read the shard and not a copy left behind. */
    private static final class Attempt {

        private @Nullable ShardPlacement placement;
        private Found found = new Found();

        void begin(ShardPlacement its) {
            placement = its;
            found = new Found();
        }
    }

    /** Keeps an attempt's findings if the shard has not moved; a copy is left behind once the catalog has the shard elsewhere. */
    private void keepIfNotMoved(int shard, Attempt last, Exception failure) {
        try {
            ShardPlacement now = catalog.load().placement(shard);
            if (last.placement != null && now.epoch() == last.placement.epoch()) {
                found.add(last.found);
            }
        } catch (ShardflakeException e) {
            failure.addSuppressed(e);
        }
    }

    private void compareRows(Connection connection, String sql, int shard, Found differences) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setFetchSize(PAGE);
            statement.setInt(1, lookup.number());
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    compareRow(shard, row, differences);
                }
            }
        }
    }

    private void compareRow(int shard, ResultSet row, Found differences) throws SQLException {
        boolean isRow = row.getBoolean(1);
        String its = "row %s of uid %s in shard %s".formatted(row.getLong(3), row.getLong(2), shard);
        String kept = row.getString(4);
        String recorded = row.getString(6);
        if (!isRow) {
            differences.add("value %s, of row %s of uid %s, is held in shard %s by a row that has no value"
                    .formatted(recorded, row.getLong(8), row.getLong(7), shard));
        } else if (kept == null) {
            differences.add(String.format(
                    Locale.ROOT,
                    "%s cannot be found: its value has %,d bytes, and 1 to %,d are allowed",
                    its,
                    row.getLong(5),
                    LookupDefinition.LONGEST_VALUE));
        } else if (recorded == null) {
            differences.add("%s has not claimed its value %s".formatted(its, kept));
        } else if (!recorded.equals(kept)) {
            differences.add("value %s, of row %s of uid %s, is held in shard %s, where the row has %s"
                    .formatted(recorded, row.getLong(8), row.getLong(7), shard, kept));
        }
    }

    /** Checks that each record has a claim with its token. */
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
                List<Claim> unclaimed = new ArrayList<>(some.getValue());
                unclaimed.removeIf(isIn(claimed(some.getKey(), CLAIMED, unclaimed)));
                checkUnclaimed(shard, some.getKey(), unclaimed);
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

    private Set<UUID> claimed(int values, String question, List<Claim> records) throws SQLException {
        return in(
                values,
                connection -> new HashSet<>(Sql.list(
                        connection,
                        sql(values, question),
                        row -> row.getObject(1, UUID.class),
                        lookup.number(),
                        connection.createArrayOf(
                                "text", records.stream().map(Claim::value).toArray()),
                        connection.createArrayOf(
                                "uuid", records.stream().map(Claim::token).toArray()))));
    }

    private void checkUnclaimed(int shard, int values, List<Claim> unsettled) throws SQLException {
        lookAgain(unsettled, () -> {
            unsettled.removeIf(isIn(claimed(values, CLAIMED, unsettled)));
            unsettled.removeIf(isIn(recorded(shard, unsettled)).negate());
        });
        for (Claim record : unsettled) {
            found.add("%s, is held in shard %s, and not claimed in shard %s".formatted(record, shard, values));
        }
    }

    /** The shard of a stored value; a hashed value begins with the hash that leads to its shard. */
    private int shardOf(String kept) {
        return lookup.hashed()
                ? router.map().shardOfUid(Long.parseUnsignedLong(kept.substring(0, 16), 16))
                : router.locate(ShardKey.uid(kept)).shard();
    }

    private static String sql(int shard, String template) {
        return template.replace("${shard.schema}", String.format(Locale.ROOT, "shard_%04d", shard));
    }

    /** Runs a query in a write transaction, whose commit verifies that the shard is still here: a read might see a copy left behind. */
    private <T> T in(int shard, Sql.Query<T> query) throws SQLException {
        return router.<T, SQLException>write(
                ShardKey.shard(shard), tx -> ShardReads.run(tx, () -> query.run(tx.connection())));
    }
}
