/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.changes;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.replication.Replication;

/** The change stream of one server. For one thread. */
public final class ServerStream {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** The number of shards per transaction, low so that a cutover waits only briefly for the lock on placements. */
    private static final int SHARDS_A_TRANSACTION = 10;

    /**
     * Compares the publication's tables with the shards that the server knows to be its own, which is exact at every moment. A shard that no
     * move brought or took has no line, and is where the map has it; one that accepts writes where the map has it was opened by hand. If the
     * map has a newer epoch of a shard that the server has not given up, it was placed elsewhere by hand.
     */
    private static final String EXPECTED = """
            WITH publication AS (SELECT oid FROM pg_publication WHERE pubname = 'shardflake_cdc'),
            sent AS (SELECT prrelid FROM pg_publication_rel JOIN publication p ON p.oid = prpubid),
            named AS (
                SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name, c.relispartition, c.relkind,
                       CASE WHEN p.here IS NULL THEN mapped WHEN p.here THEN mapped OR p.epoch >= (?::bigint[])[p.shard + 1]
                            ELSE mapped AND NOT shardflake.is_fenced(p.shard) END AS here
                  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 CROSS JOIN LATERAL (SELECT n.nspname = ANY (?) AS mapped) map
                  LEFT JOIN shardflake.placement p ON n.nspname = shardflake.shard_schema(p.shard)
                 WHERE n.nspname ~ '^shard_[0-9]{4}$' AND c.relkind IN ('r', 'p') AND c.relpersistence = 'p')
            """;

    private static final String MISSING = EXPECTED
            + "SELECT name FROM named WHERE here AND NOT relispartition AND NOT EXISTS (SELECT FROM sent WHERE prrelid = named.oid) ORDER BY name COLLATE \"C\"";

    private static final String SURPLUS = EXPECTED
            + "SELECT name FROM named WHERE NOT here AND EXISTS (SELECT FROM sent WHERE prrelid = named.oid) ORDER BY name COLLATE \"C\"";

    private static final String UNPUBLISHABLE = EXPECTED
            + "SELECT name FROM named WHERE here AND NOT relispartition AND NOT shardflake.is_publishable(named.oid) ORDER BY name COLLATE \"C\"";

    private static final String READERS = """
            SELECT slot_name, active, wal_status IS NOT DISTINCT FROM 'lost',
                   COALESCE(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, restart_lsn), 0)::bigint
              FROM pg_replication_slots
             WHERE slot_type = 'logical' AND database = current_database() AND starts_with(slot_name, ?) ORDER BY 1
            """;

    private static final String MAY_CHANGE = """
            SELECT pg_has_role(pubowner, 'USAGE')
               AND (SELECT bool_and(has_function_privilege(f.oid, 'EXECUTE')) FROM pg_proc f
                     WHERE f.pronamespace = 'pg_catalog'::regnamespace AND f.proname = 'pg_logical_emit_message'
                       AND oidvectortypes(f.proargtypes) LIKE 'boolean, text, text%')
              FROM pg_publication WHERE pubname = ?
            """;

    private static final String RECORD_OPENED = """
            SELECT shardflake.record_placement(shard, ?, true) FROM shardflake.placement
             WHERE shard = ? AND NOT here AND to_regnamespace(shardflake.shard_schema(shard)) IS NOT NULL AND NOT shardflake.is_fenced(shard)
            """;

    /** The owner of all tables, as whom deployments add more tables. */
    private static final String OWNER = """
            SELECT quote_ident(min(pg_get_userbyid(c.relowner))) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname ~ '^shard_[0-9]{4}$' AND c.relkind IN ('r', 'p')
            HAVING min(c.relowner::bigint) = max(c.relowner::bigint) AND min(c.relowner::bigint) <> (SELECT oid::bigint FROM pg_roles WHERE rolname = current_user)
            """;

    private final String name;
    private final Connection connection;

    /** @param connection to the server's primary, in auto-commit mode */
    public ServerStream(String name, Connection connection) {
        this.name = name;
        this.connection = connection;
    }

    /** Whether the publication exists. */
    public boolean isThere() throws SQLException {
        return Sql.isTrue(
                connection, "SELECT EXISTS (SELECT FROM pg_publication WHERE pubname = ?)", ChangeStream.PUBLICATION);
    }

    /** The state of this server. */
    public ChangeStreamStatus status(ShardMap map) throws SQLException {
        boolean isThere = isThere();
        return new ChangeStreamStatus(
                name,
                isThere,
                Replication.published(connection, ChangeStream.PUBLICATION).size(),
                isThere ? list(MISSING, map) : List.of(),
                isThere ? list(SURPLUS, map) : List.of(),
                readers());
    }

    /** The slots of readers. */
    public List<ChangeStreamStatus.Reader> readers() throws SQLException {
        return Sql.list(
                connection,
                READERS,
                row -> new ChangeStreamStatus.Reader(
                        row.getString(1), row.getBoolean(2), row.getBoolean(3), row.getLong(4)),
                ChangeStream.SLOT_PREFIX);
    }

    /**
     * An obstacle to moving shards with their changes, and the remedy.
     *
     * @param isSlot whether the only obstacle is a reader's missing slot, which can be created on a standby after its promotion
     */
    public record Obstacle(String what, Advice remedy, boolean isSlot) {
        Obstacle(String what, Advice remedy) {
            this(what, remedy, false);
        }
    }

    /** Finds the obstacle, if any, that would keep changes from following shards to another server and to all readers here. */
    public Optional<Obstacle> obstacle(ServerStream target) throws SQLException {
        if (isThere() != target.isThere()) {
            return Optional.of(new Obstacle(
                    "%s has no publication of the change stream".formatted(isThere() ? target.name : name),
                    Advice.of("create it there with %s", CliCommand.CDC_CREATE)));
        }
        if (!isThere()) {
            return Optional.empty();
        }
        for (ServerStream side : List.of(this, target)) {
            if (!Sql.isTrue(side.connection, MAY_CHANGE, ChangeStream.PUBLICATION)) {
                return Optional.of(new Obstacle(
                        "the role may not change publication %s on %s, or may not write messages into the log"
                                .formatted(ChangeStream.PUBLICATION, side.name),
                        Advice.of("grant it the publication's owner, and EXECUTE on pg_logical_emit_message")));
            }
        }
        List<String> there =
                target.readers().stream().map(ChangeStreamStatus.Reader::slot).toList();
        for (ChangeStreamStatus.Reader reader : readers()) {
            if (!there.contains(reader.slot())) {
                return Optional.of(new Obstacle(
                        "%s has no slot %s, so its reader would lose what is written there"
                                .formatted(target.name, reader.slot()),
                        Advice.of(
                                "start the reader, which creates the slot there, or create it; if the reader is gone for good, drop its slot on %s",
                                name),
                        true));
            }
        }
        return Optional.empty();
    }

    private List<String> list(String sql, ShardMap map) throws SQLException {
        Object[] epochs = IntStream.range(0, map.sharding().shardCount())
                .mapToObj(shard -> map.placement(shard).epoch())
                .toArray();
        return Sql.list(
                connection, sql, row -> row.getString(1), connection.createArrayOf("int8", epochs), shards(map));
    }

    /** The shards that the map gives this server; none if the map does not have the server yet. */
    private ShardSet shards(ShardMap map) {
        return map.servers().stream()
                .filter(server -> server.name().equals(name))
                .findFirst()
                .map(map::shards)
                .orElse(ShardSet.of());
    }

    /** Refuses a server without logical decoding. */
    public void requireDecoding() throws SQLException {
        if (!Sql.isTrue(connection, "SELECT current_setting('wal_level') = 'logical'")) {
            throw refused(
                    "%s has no logical decoding".formatted(name),
                    Advice.of("set wal_level = logical there, and restart it"));
        }
    }

    /** Refuses anything that would make the stream incomplete, before any change is made. */
    void check(ShardMap map) throws SQLException {
        if (!Sql.isTrue(connection, "SELECT to_regproc('shardflake.publish_shard') IS NOT NULL")) {
            throw refused(
                    "the function library of %s is older than change streams".formatted(name),
                    Advice.of("run %s", CliCommand.UPGRADE));
        }
        requireDecoding();
        List<String> unpublishable = list(UNPUBLISHABLE, map);
        if (!unpublishable.isEmpty()) {
            throw refused(
                    "%s has %s without a replica identity, of which no UPDATE and no DELETE can be sent: %s"
                            .formatted(name, Plural.of(unpublishable.size(), "table"), unpublishable.get(0)),
                    Advice.of("give it a primary key"));
        }
    }

    private static ShardflakeException refused(String message, Advice advice) {
        return new ShardflakeException(Kind.PRECONDITION, message, advice, null);
    }

    /** Creates the publication, or corrects it. */
    void create(ShardMap map, Consumer<String> voice) throws SQLException {
        if (!isThere()) {
            // As its table's rows, whatever partitions that has on one server or another.
            Sql.execute(
                    connection,
                    "CREATE PUBLICATION %s WITH (publish_via_partition_root = true)"
                            .formatted(ChangeStream.PUBLICATION));
            if (Sql.isTrue(connection, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user")) {
                Optional<String> owner = Sql.list(connection, OWNER, row -> row.getString(1)).stream()
                        .findFirst();
                if (owner.isPresent()) {
                    Sql.execute(
                            connection,
                            "ALTER PUBLICATION %s OWNER TO %s".formatted(ChangeStream.PUBLICATION, owner.get()));
                }
            }
        }
        List<Integer> all = new ArrayList<>(shards(map).stream().boxed().toList());
        for (String table : list(SURPLUS, map)) {
            int shard = shard(table);
            if (!all.contains(shard)) {
                all.add(shard);
            }
        }
        for (int from = 0; from < all.size(); from += SHARDS_A_TRANSACTION) {
            List<Integer> some = all.subList(from, Math.min(all.size(), from + SHARDS_A_TRANSACTION));
            Poll.Reason reason =
                    () -> "%s waits for locks on tables of %s".formatted(name, Plural.shards(ShardSet.of(some)));
            if (!Poll.everyMillis(100, PATIENCE).until(() -> publish(some, map), reason, voice)) {
                throw new ShardflakeException(
                        Kind.PARTLY_DONE,
                        reason.get(),
                        Advice.of("end what holds them, such as VACUUM, and run %s again", CliCommand.CDC_CREATE),
                        null);
            }
        }
    }

    private static int shard(String table) {
        return Integer.parseInt(table.substring("shard_".length(), "shard_".length() + 4));
    }

    /** Publishes shards, unless an obstacle prevents it. No cutover can come between the look at a shard and the change. */
    private boolean publish(List<Integer> some, ShardMap map) throws SQLException {
        try {
            return Sql.inTransaction(connection, () -> {
                Sql.execute(
                        connection,
                        "SET LOCAL lock_timeout = '50ms'; LOCK TABLE shardflake.placement IN SHARE ROW EXCLUSIVE MODE");
                ShardSet mapped = shards(map);
                for (int shard : some) {
                    if (mapped.contains(shard)) {
                        Sql.call(connection, RECORD_OPENED, map.placement(shard).epoch(), shard);
                    }
                    Sql.call(connection, "SELECT shardflake.publish_shard(?)", shard);
                }
                // What the server does not know to be elsewhere: the shard was placed there by hand.
                for (String table : list(SURPLUS, map)) {
                    if (some.contains(shard(table))) {
                        Sql.execute(
                                connection,
                                "ALTER PUBLICATION %s DROP TABLE ONLY %s".formatted(ChangeStream.PUBLICATION, table));
                    }
                }
                return true;
            });
        } catch (SQLException e) {
            if (Sql.isInTheWay(e)) {
                return false;
            }
            throw e;
        }
    }

    /** Removes the publication and the readers' slots, for which the server would keep its log. */
    void drop() throws SQLException {
        for (ChangeStreamStatus.Reader reader : readers()) {
            Replication.dropIdleSlot(connection, reader.slot());
        }
        Replication.dropPublication(connection, ChangeStream.PUBLICATION, "");
    }
}
