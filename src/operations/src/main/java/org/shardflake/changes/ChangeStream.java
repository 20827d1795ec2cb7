/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.changes;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/**
 * The change stream of an installation: a publication on each server, which always contains the tables of exactly the shards on that server. So
 * a reader of all servers gets each change once, whatever is moved. Messages in the write-ahead log, of the prefix {@code shardflake}, say
 * which shard arrived or left with which epoch. Thread-safe; holds no connection between calls.
 */
public final class ChangeStream {

    /** The publication, on each server. */
    public static final String PUBLICATION = "shardflake_cdc";

    /** The prefix of the names of readers' slots; a reader has a slot of the same name on each server. */
    public static final String SLOT_PREFIX = PUBLICATION + "_";

    private static final String APPLICATION = "shardflake cdc";

    private final ServerUrl catalog;
    private final Function<Server, ServerUrl> urls;
    private final Consumer<String> voice;

    /**
     * @param urls the URL of a server of the shard map, including what is needed to log in
     * @param voice told what is waited for
     */
    public ChangeStream(ServerUrl catalog, Function<Server, ServerUrl> urls, Consumer<String> voice) {
        this.catalog = catalog;
        this.urls = urls;
        this.voice = voice;
    }

    /**
     * Creates missing publications, and corrects those that are out of step. Writers do not wait.
     *
     * @throws ShardflakeException if a server could not send all changes; nothing was changed then
     */
    public List<ChangeStreamStatus> create() {
        return Sql.translating(() -> onAll((map, streams) -> {
            for (ServerStream stream : streams.values()) {
                stream.check(map);
            }
            for (ServerStream stream : streams.values()) {
                stream.create(map, voice);
            }
            return statuses(map, streams);
        }));
    }

    /** Whether any server of the map that answers has the publication. */
    public boolean isAnywhere(ShardMap map) {
        return map.servers().stream().anyMatch(server -> {
            try (Connection connection = urls.apply(server).connect(APPLICATION)) {
                return new ServerStream(server.name(), connection).isThere();
            } catch (SQLException | ShardflakeException e) {
                return false; // The doctor compares them when they answer again.
            }
        });
    }

    /**
     * Creates the publication on one server.
     *
     * @throws ShardflakeException if it could not send all changes
     */
    public void create(ShardMap map, Server server) {
        Sql.translating(() -> Sql.with(urls.apply(server).connect(APPLICATION), connection -> {
            ServerStream stream = new ServerStream(server.name(), connection);
            stream.check(map);
            stream.create(map, voice);
            return true;
        }));
    }

    /** The state of each server. */
    public List<ChangeStreamStatus> status() {
        return Sql.translating(() -> onAll(ChangeStream::statuses));
    }

    /**
     * Removes the publications, and the slots of their readers.
     *
     * @throws ShardflakeException if there are none, or a reader is connected; nothing was changed then
     */
    public void drop() {
        Sql.translating(() -> onAll((map, streams) -> {
            List<ChangeStreamStatus> all = statuses(map, streams);
            if (all.stream()
                    .noneMatch(status -> status.isThere() || !status.readers().isEmpty())) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "no server has the change stream, or a slot of its readers",
                        Advice.of("there is nothing to drop"),
                        null);
            }
            for (ChangeStreamStatus status : all) {
                for (ChangeStreamStatus.Reader reader : status.readers()) {
                    if (reader.isActive()) {
                        throw new ShardflakeException(
                                Kind.PRECONDITION,
                                "slot %s of %s is in use".formatted(reader.slot(), status.server()),
                                Advice.of("stop its reader, and run %s again", CliCommand.CDC_DROP),
                                null);
                    }
                }
            }
            for (ServerStream stream : streams.values()) {
                stream.drop();
            }
            return true;
        }));
    }

    private static List<ChangeStreamStatus> statuses(ShardMap map, Map<Server, ServerStream> streams)
            throws SQLException {
        List<ChangeStreamStatus> all = new ArrayList<>();
        for (ServerStream stream : streams.values()) {
            all.add(stream.status(map));
        }
        return all;
    }

    @FunctionalInterface
    private interface Work<T> {
        T run(ShardMap map, Map<Server, ServerStream> streams) throws SQLException;
    }

    private <T> T onAll(Work<T> work) throws SQLException {
        ShardMap map = ShardCatalog.at(catalog).load();
        Map<Server, ServerStream> streams = new LinkedHashMap<>();
        List<Connection> opened = new ArrayList<>();
        try {
            for (Server server : map.servers()) {
                Connection connection = urls.apply(server).connect(APPLICATION);
                opened.add(connection);
                streams.put(server, new ServerStream(server.name(), connection));
            }
            return work.run(map, streams);
        } finally {
            opened.forEach(Sql::close);
        }
    }
}
