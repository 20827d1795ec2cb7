/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.server.ServerUrl;

/**
 * Reads the changes of all shards from the servers' slots: each change once, and those of a shard in commit order, even while shards move. For
 * one thread.
 *
 * <p>The caller pulls: a server keeps what is not pulled. With what it applied, it stores {@link #positions}, best in one transaction, and
 * passes them to {@link #open} after a restart. Then it calls {@link #confirm}, so that the servers can remove log.
 *
 * <p>A server that does not answer is tried again. A slot that has lost something is an error, {@link ChangesLostException}.
 */
public final class ChangeReader implements AutoCloseable {

    /** The publication that {@code shardflake cdc create} creates on each server. */
    static final String PUBLICATION = "shardflake_cdc";

    private static final String APPLICATION = "shardflake cdc";
    private static final Pattern NAME = Pattern.compile("[a-z0-9_]{1,40}");
    private static final int ATTEMPTS = 20;
    private static final long LOOK_NANOS = Duration.ofSeconds(2).toNanos();
    private static final long PATIENCE_NANOS = Duration.ofMinutes(10).toNanos();

    private final ShardCatalog catalog;
    private final Function<Server, ServerUrl> urls;
    private final String slot;
    private final Positions positions;
    private final Map<String, ServerReader> readers = new LinkedHashMap<>();
    private long nextLook = System.nanoTime();
    private int turn;

    private ChangeReader(ShardCatalog catalog, Function<Server, ServerUrl> urls, String slot, Positions positions) {
        this.catalog = catalog;
        this.urls = urls;
        this.slot = slot;
        this.positions = positions;
    }

    /**
     * Starts a new reader, with changes from now on. Creates the reader's slots, which keep log from then on.
     *
     * @param urls the URL of a server of the shard map, including what is needed to log in
     * @param name of the reader, for its slots: 1 to 40 small letters, digits and underscores
     * @throws ShardflakeException if no change stream was created, or slots of this name exist; no slot was created in either case
     */
    public static ChangeReader begin(ServerUrl catalog, Function<Server, ServerUrl> urls, String name) {
        return begin(catalog, urls, name, false);
    }

    /**
     * Starts like {@link #begin}, but with the existing rows: for each shard first {@link Change.Kind#SNAPSHOT}, then its rows, and then the
     * changes that are not in them. Shards can be moved while it runs. If the reader is closed before it has read all rows of a shard, it takes
     * that shard's snapshot again when it is reopened, and sends another {@code SNAPSHOT} first.
     *
     * <p>A server's changes wait until the rows of its shards have been read, and it keeps its log until then. What drops or alters a table waits while
     * the rows of that shard are read. The role has to have SELECT on the shards' tables and on {@code shardflake.placement}, and
     * EXECUTE on {@code pg_logical_emit_message}.
     */
    public static ChangeReader beginWithSnapshot(ServerUrl catalog, Function<Server, ServerUrl> urls, String name) {
        return begin(catalog, urls, name, true);
    }

    private static ChangeReader begin(
            ServerUrl catalog, Function<Server, ServerUrl> urls, String name, boolean withRows) {
        ShardCatalog map = ShardCatalog.at(catalog);
        String slot = slot(name);
        for (int attempt = 1; ; attempt++) {
            ShardMap before = map.load();
            for (Server server : before.servers()) {
                if (look(urls.apply(server), server, slot).isPresent()) {
                    throw new ShardflakeException(
                            Kind.PRECONDITION,
                            "%s has a slot %s already".formatted(server.name(), slot),
                            "open the reader with its positions; or drop its slots with ChangeReader.drop",
                            null);
                }
            }
            Positions positions = create(before, urls, slot);
            ShardMap after = map.load();
            if (isEqual(before, after) && areOpen(after, urls)) {
                for (int shard = 0; shard < after.sharding().shardCount(); shard++) {
                    positions.set(
                            shard,
                            new Owner(
                                    after.server(shard).name(),
                                    after.placement(shard).epoch(),
                                    Optional.empty()));
                    if (withRows) {
                        positions.setUnread(shard, 0);
                    }
                }
                return new ChangeReader(map, urls, slot, positions);
            }
            // A slot that was created while its shard went elsewhere may begin before or after that.
            drop(before, urls, slot);
            if (attempt == ATTEMPTS) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "shards were cut over at each of %s attempts to begin".formatted(ATTEMPTS),
                        "begin when fewer shards move",
                        null);
            }
        }
    }

    /**
     * Resumes a reader after the changes that a consumer has stored.
     *
     * @param positions the text of {@link #positions}
     * @throws ShardflakeException if the text is of something else
     */
    public static ChangeReader open(
            ServerUrl catalog, Function<Server, ServerUrl> urls, String name, String positions) {
        return new ChangeReader(ShardCatalog.at(catalog), urls, slot(name), Positions.parse(positions));
    }

    /** Drops the replication slots of a reader on all servers of the map, once it is no longer needed. */
    public static void drop(ServerUrl catalog, Function<Server, ServerUrl> urls, String name) {
        drop(ShardCatalog.at(catalog).load(), urls, slot(name));
    }

    private static String slot(String name) {
        if (!NAME.matcher(name).matches()) {
            throw new ShardflakeException(
                    Kind.USAGE,
                    "'%s' is not a name for a change reader".formatted(name),
                    "use 1 to 40 small letters, digits and underscores",
                    null);
        }
        return PUBLICATION + "_" + name;
    }

    private static boolean isEqual(ShardMap before, ShardMap after) {
        if (!before.servers().equals(after.servers())) {
            return false;
        }
        for (int shard = 0; shard < before.sharding().shardCount(); shard++) {
            if (before.placement(shard).epoch() != after.placement(shard).epoch()) {
                return false;
            }
        }
        return true;
    }

    /** Whether every shard is open on its server. If not, a cutover has begun, and the new slots would contain only the end of it. */
    private static boolean areOpen(ShardMap map, Function<Server, ServerUrl> urls) {
        for (Server server : map.servers()) {
            boolean isOpen = on(urls.apply(server), connection -> {
                if (numbers(connection, "SELECT 1 WHERE has_table_privilege(?, 'SELECT')", "shardflake.placement")
                        .isEmpty()) {
                    return true;
                }
                String closed = "SELECT shard FROM shardflake.placement WHERE shard = ANY (?::integer[]) AND NOT here";
                String its = map.shards(server).stream()
                        .mapToObj(String::valueOf)
                        .collect(Collectors.joining(",", "{", "}"));
                return numbers(connection, closed, its).isEmpty();
            });
            if (!isOpen) {
                return false;
            }
        }
        return true;
    }

    /** The position that a slot has confirmed. */
    private static Optional<Long> look(ServerUrl url, Server server, String slot) {
        return on(url, connection -> {
            if (numbers(connection, "SELECT 1 FROM pg_publication WHERE pubname = ?", PUBLICATION)
                    .isEmpty()) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "%s has no change stream".formatted(server.name()),
                        Advice.of("create it with %s", CliCommand.CDC_CREATE),
                        null);
            }
            return numbers(
                            connection,
                            "SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots WHERE slot_name = ?",
                            slot)
                    .stream()
                    .findFirst();
        });
    }

    /** Creates slots on all servers, or on no server. */
    private static Positions create(ShardMap map, Function<Server, ServerUrl> urls, String slot) {
        Positions positions = new Positions();
        try {
            for (Server server : map.servers()) {
                positions.set(server.name(), new Positions.Position(create(urls.apply(server), slot), 0, 0));
            }
            return positions;
        } catch (ShardflakeException e) {
            for (String server : positions.servers().keySet()) {
                drop(urls.apply(map.server(server)), slot);
            }
            throw e;
        }
    }

    private static long create(ServerUrl url, String slot) {
        return on(url, connection -> {
            boolean survivesFailover = connection.getMetaData().getDatabaseMajorVersion() >= 17;
            return numbers(
                            connection,
                            survivesFailover
                                    ? "SELECT (lsn - '0/0')::bigint FROM pg_create_logical_replication_slot(?, 'pgoutput', failover => true)"
                                    : "SELECT (lsn - '0/0')::bigint FROM pg_create_logical_replication_slot(?, 'pgoutput')",
                            slot)
                    .get(0);
        });
    }

    private static void drop(ShardMap map, Function<Server, ServerUrl> urls, String slot) {
        for (Server server : map.servers()) {
            drop(urls.apply(server), slot);
        }
    }

    private static void drop(ServerUrl url, String slot) {
        on(
                url,
                connection -> numbers(
                        connection,
                        "SELECT 1 FROM (SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = ?) dropped",
                        slot));
    }

    @FunctionalInterface
    private interface Work<T> {
        T run(Connection connection) throws SQLException;
    }

    private static <T> T on(ServerUrl url, Work<T> work) {
        try (Connection connection = url.connect(APPLICATION)) {
            return work.run(connection);
        } catch (SQLException e) {
            throw new ShardflakeException("%s: %s".formatted(url.hosts(), e.getMessage()), e);
        }
    }

    private static List<Long> numbers(Connection connection, String sql, String parameter) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setString(1, parameter);
            try (ResultSet row = statement.executeQuery()) {
                List<Long> found = new ArrayList<>();
                while (row.next()) {
                    found.add(row.getLong(1));
                }
                return found;
            }
        }
    }

    /**
     * Waits for the next change and returns it; empty if no change arrives in time.
     *
     * @param patience how long to wait for one
     * @return empty if none came in this time; {@link #positions} may have changed even so
     * @throws ChangesLostException if changes are lost
     * @throws ShardflakeException if a server has not answered for ten minutes, or the thread is interrupted
     */
    public Optional<Change> poll(Duration patience) {
        long until = System.nanoTime() + patience.toNanos();
        while (true) {
            lookForServers();
            List<ServerReader> all = List.copyOf(readers.values());
            for (int i = 0; i < all.size(); i++) {
                ServerReader reader = all.get((turn + i) % all.size());
                Change change = reader.next();
                if (change != null) {
                    turn = (turn + i + (change.isLast() ? 1 : 0)) % all.size();
                    return Optional.of(change);
                }
                SQLException failure = reader.failure();
                if (failure != null && reader.failingNanos() > PATIENCE_NANOS) {
                    throw new ShardflakeException(
                            "a server has not answered for ten minutes: %s".formatted(failure.getMessage()), failure);
                }
            }
            if (System.nanoTime() - until >= 0) {
                return Optional.empty();
            }
            try {
                Thread.sleep(2);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new ShardflakeException("interrupted", e);
            }
        }
    }

    /** The positions up to which changes were pulled, to be stored by the caller together with the results. */
    public String positions() {
        return positions.toString();
    }

    /**
     * Allows the servers to remove the log of changes that a consumer has stored.
     *
     * @param stored the text of {@link #positions}, which {@link #open} will get
     */
    public void confirm(String stored) {
        Positions.parse(stored).servers().forEach((server, position) -> {
            ServerReader reader = readers.get(server);
            if (reader != null) {
                reader.confirm(position.end());
            }
        });
    }

    /**
     * The shards that have arrived on a server while their departure from another has not been read yet, and those whose rows have not been
     * read; usually empty.
     */
    public List<String> waiting() {
        List<String> waiting = new ArrayList<>();
        readers.forEach((server, reader) -> {
            Journal held = reader.held();
            if (held != null) {
                waiting.add("%s waits for what %s has sent of shard %s"
                        .formatted(server, positions.owner(held.shard()).server(), held.shard()));
            }
        });
        ShardSet unread = positions.unread();
        if (!unread.isEmpty()) {
            waiting.add("rows of %s %s have not been read".formatted(unread.size() == 1 ? "shard" : "shards", unread));
        }
        return waiting;
    }

    /** Creates slots on servers that were added; no shard is moved there before. */
    private void lookForServers() {
        if (System.nanoTime() - nextLook < 0) {
            return;
        }
        nextLook = System.nanoTime() + LOOK_NANOS;
        ShardMap map;
        try {
            map = catalog.load();
        } catch (ShardflakeException e) {
            if (readers.isEmpty()) {
                throw e;
            }
            return; // Reading needs no catalog.
        }
        for (Server server : map.servers()) {
            if (!readers.containsKey(server.name())
                    && (positions.servers().containsKey(server.name()) || joins(server))) {
                readers.put(
                        server.name(),
                        new ServerReader(server.name(), urls.apply(server), slot, positions, journals, this::isAt));
            }
        }
        for (String known : List.copyOf(positions.servers().keySet())) {
            boolean isThere =
                    map.servers().stream().anyMatch(server -> server.name().equals(known));
            if (!isThere && !positions.needs(known)) {
                ServerReader gone = readers.remove(known);
                if (gone != null) {
                    gone.close();
                }
                positions.servers().remove(known);
            }
        }
    }

    private boolean isAt(String server, int shard, long epoch) throws SQLException {
        try {
            ShardMap map = catalog.load();
            return map.server(shard).name().equals(server)
                    && map.placement(shard).epoch() == epoch;
        } catch (ShardflakeException e) {
            throw new SQLException(e.getMessage(), e);
        }
    }

    /** Creates the slot on a new server; returns whether it exists. If it does not answer, or has no publication yet, it is tried again. */
    private boolean joins(Server server) {
        try {
            ServerUrl url = urls.apply(server);
            // One that was created before, but whose position was not stored, has not been read.
            long begin = look(url, server, slot).orElseGet(() -> create(url, slot));
            positions.set(server.name(), new Positions.Position(begin, 0, 0));
            return true;
        } catch (ShardflakeException e) {
            return false;
        }
    }

    private final ServerReader.Journals journals = new ServerReader.Journals() {
        @Override
        public boolean take(String server, Journal line, Message.Begin transaction) {
            Owner owner = positions.owner(line.shard());
            Owner next = owner.after(server, line).orElse(null);
            if (next == null) {
                return false;
            }
            boolean isHere = line.arrives() && next.equals(new Owner(server, line.epoch(), Optional.empty()));
            if (isHere || !next.equals(owner)) {
                positions.set(line.shard(), next);
            }
            if (isHere && positions.unread(line.shard()) != null) {
                positions.setUnread(line.shard(), transaction.xid() & 0xFFFFFFFFL);
            } else if (next.epoch() > owner.epoch()) {
                positions.forgetSnapshot(line.shard());
            }
            return true;
        }

        @Override
        public long epoch(String server, int shard) {
            Owner owner = positions.owner(shard);
            if (!owner.server().equals(server) || owner.left().isPresent()) {
                throw new ChangesLostException(
                        "%s sent a change of shard %s, which is %s's: its publication was out of step"
                                .formatted(server, shard, owner.server()));
            }
            return owner.epoch();
        }
    };

    /** Closes the connections. The slots stay, and keep what was not confirmed. */
    @Override
    public void close() {
        readers.values().forEach(ServerReader::close);
        readers.clear();
    }
}
