/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.shardflake.jdbc.Sql;
import org.shardflake.replication.Replication;

/**
 * The replication of reference tables from their home to one server: a slot and a subscription, and the publication that all servers
 * share. For one thread.
 */
final class ReferenceStream {

    private static final String VERSION_TABLE = "shardflake.reference_version";

    private static final String SUBSCRIPTION = """
            SELECT s.subenabled, w.pid IS NOT NULL, COALESCE(e.apply_error_count, 0)
              FROM pg_subscription s
              LEFT JOIN pg_stat_subscription w ON w.subid = s.oid AND w.relid IS NULL
              LEFT JOIN pg_stat_subscription_stats e ON e.subid = s.oid
             WHERE s.subname = ? AND s.subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
            """;

    private static final String SLOT = """
            SELECT active, COALESCE(wal_status = 'lost', false),
                   pg_size_pretty(COALESCE(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)),
                   COALESCE(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0) > 10737418240
              FROM pg_replication_slots WHERE slot_name = ?
            """;

    private static final String SLOTS = """
            SELECT slot_name FROM pg_replication_slots
             WHERE database = current_database() AND slot_name ~ '^shardflake_r[0-9]+_[0-9a-f]{6}_[0-9a-f]{8}$' ORDER BY 1
            """;

    private final String publication;
    private final String name;
    private final ReferenceServer home;
    private final ReferenceServer copy;

    ReferenceStream(String tag, ReferenceServer home, ReferenceServer copy) {
        this.publication = publication(tag);
        this.name = name(tag, copy.name());
        this.home = home;
        this.copy = copy;
    }

    static String publication(String tag) {
        return "shardflake_" + tag;
    }

    /** The name of the slot and the subscription. Slots know fewer characters than names of servers. */
    static String name(String tag, String server) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(server.getBytes(UTF_8));
            return "shardflake_%s_%s".formatted(tag, HexFormat.of().formatHex(digest, 0, 4));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // Every JDK has it.
        }
    }

    ReferenceServer copy() {
        return copy;
    }

    /** Publishes exactly these tables from now on, in the connection's transaction. */
    static void publish(Connection connection, String tag, List<String> tables) throws SQLException {
        boolean exists = Sql.isTrue(
                connection, "SELECT EXISTS (SELECT FROM pg_publication WHERE pubname = ?)", publication(tag));
        String all = tables.stream().map(table -> ", " + table).collect(Collectors.joining());
        Sql.execute(
                connection,
                (exists ? "ALTER PUBLICATION %s SET TABLE %s%s" : "CREATE PUBLICATION %s FOR TABLE %s%s")
                        .formatted(publication(tag), VERSION_TABLE, all));
    }

    static void unpublish(Connection connection, String tag) throws SQLException {
        Replication.dropPublication(connection, publication(tag), "");
    }

    /** Whether the server receives, sooner or later, everything written on the home. */
    boolean isWhole() throws SQLException {
        return Replication.hasSubscription(copy.control(), name)
                && Replication.hasSlot(home.control(), name)
                && !Replication.hasFailedOver(home.control(), name)
                && !Replication.isAhead(copy.control(), home.control(), name)
                && Sql.list(home.control(), SLOT, row -> row.getBoolean(2), name)
                        .equals(List.of(false));
    }

    void createSlot() throws SQLException {
        if (!Replication.hasSlot(home.control(), name)) {
            Replication.createSlot(home.control(), name);
        }
    }

    /** Skips everything committed on the home so far, which the server already has. */
    void skipToNow() throws SQLException {
        Sql.awaitDisk(home.control()); // A slot advances to what is on disk.
        Sql.call(home.control(), "SELECT pg_replication_slot_advance(?, pg_current_wal_insert_lsn())", name);
    }

    void createSubscription() throws SQLException {
        if (Replication.hasSubscription(copy.control(), name)) {
            return;
        }
        Sql.inTransaction(copy.control(), () -> {
            Replication.createSubscription(
                    copy.control(),
                    name,
                    publication,
                    home.url().conninfo(),
                    Replication.safeOptions(home.control(), copy.control()));
            return true;
        });
    }

    void enable() throws SQLException {
        Sql.execute(copy.control(), "ALTER SUBSCRIPTION %s ENABLE".formatted(name));
    }

    /** Refreshes the list of published tables; changes of unlisted tables are silently ignored. */
    void refresh() throws SQLException {
        Sql.execute(
                copy.control(), "ALTER SUBSCRIPTION %s REFRESH PUBLICATION WITH (copy_data = false)".formatted(name));
    }

    boolean isEnabled() throws SQLException {
        return Sql.list(copy.control(), SUBSCRIPTION, row -> row.getBoolean(1), name)
                .equals(List.of(true));
    }

    /** Slots of reference tables that no stream uses any more: their server keeps write-ahead log for them until its disk is full. */
    static List<String> staleSlots(Connection server, Set<String> used) throws SQLException {
        return Sql.list(server, SLOTS, row -> row.getString(1)).stream()
                .filter(slot -> !used.contains(slot))
                .toList();
    }

    void dropSlot() throws SQLException {
        Replication.dropSlot(home.control(), name);
    }

    void dropSubscription() throws SQLException {
        dropSubscription(copy.control(), name);
    }

    static void dropSubscription(Connection connection, String name) throws SQLException {
        if (Replication.hasSubscription(connection, name)) {
            Replication.dropSubscription(connection, name, "");
        }
    }

    /** The reason why the server does not follow, as far as both servers show it; empty if unknown. */
    Optional<String> trouble() throws SQLException {
        return trouble(home.name(), home.control(), copy.name(), copy.control(), name);
    }

    static Optional<String> trouble(String homeName, Connection home, String copyName, Connection copy, String name)
            throws SQLException {
        List<List<Object>> subscriptions = Sql.list(
                copy, SUBSCRIPTION, row -> List.of(row.getBoolean(1), row.getBoolean(2), row.getLong(3)), name);
        if (subscriptions.isEmpty()) {
            return Optional.of("%s has no subscription %s".formatted(copyName, name));
        }
        if (!(Boolean) subscriptions.get(0).get(0)) {
            return Optional.of("subscription %s is disabled on %s".formatted(name, copyName));
        }
        List<List<Object>> slots = Sql.list(
                home,
                SLOT,
                row -> List.of(row.getBoolean(1), row.getBoolean(2), row.getString(3), row.getBoolean(4)),
                name);
        if (slots.isEmpty()) {
            return Optional.of("%s has no slot %s, as after a failover".formatted(homeName, name));
        }
        List<Object> slot = slots.get(0);
        if ((Boolean) slot.get(1)) {
            return Optional.of("%s has given up slot %s, which had fallen behind".formatted(homeName, name));
        }
        if (Replication.hasFailedOver(home, name)) {
            return Optional.of(
                    "%s failed over, and its slot %s may lack what was written before".formatted(homeName, name));
        }
        if (Replication.isAhead(copy, home, name)) {
            return Optional.of("%s failed over to a standby that was behind, and %s has got more than it has now"
                    .formatted(homeName, copyName));
        }
        if ((Boolean) slot.get(3)) {
            return Optional.of("slot %s keeps %s of write-ahead log on %s".formatted(name, slot.get(2), homeName));
        }
        if (!(Boolean) slot.get(0)) {
            return Optional.of("%s does not follow %s, which keeps %s of write-ahead log for it; the log of %s says why"
                    .formatted(copyName, homeName, slot.get(2), copyName));
        }
        return Optional.empty();
    }
}
