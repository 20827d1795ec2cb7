/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.gateway;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/**
 * The gateways of an installation: schemas in any PostgreSQL database with one read-only table for each table of the shards, whose rows come
 * from all shards. Thread-safe; holds no connection between calls.
 */
public final class Gateways {

    private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9_]{0,29}");
    private static final Duration LOCK_PATIENCE = Duration.ofSeconds(10);
    private static final int CONNECT_SECONDS = 5;

    private final ServerUrl catalogUrl;
    private final GatewayCatalog catalog;
    private final Function<String, ServerUrl> urls;

    /**
     * @param urls reads the URL of a server or a gateway, and adds what is needed to log in
     */
    public Gateways(ServerUrl catalog, Function<String, ServerUrl> urls) {
        this.catalogUrl = catalog;
        this.catalog = new GatewayCatalog(catalog);
        this.urls = urls;
    }

    /** All gateways. */
    public List<Gateway> all() {
        return catalog.all();
    }

    /**
     * A gateway by its name.
     *
     * @throws ShardflakeException if there is none of this name
     */
    public Gateway gateway(String name) {
        return find(name)
                .orElseThrow(() -> new ShardflakeException(
                        Kind.USAGE,
                        "there is no gateway %s".formatted(name),
                        Advice.of(
                                "%s lists them, %s creates one", CliCommand.GATEWAY_STATUS, CliCommand.GATEWAY_DEPLOY),
                        null));
    }

    private Optional<Gateway> find(String name) {
        return all().stream().filter(one -> one.name().equals(name)).findFirst();
    }

    /**
     * The result of a deployment or a refresh.
     *
     * @param tables how many tables the gateway has
     * @param parts of how many foreign tables these consist
     * @param changed how many of those were made or removed now
     */
    public record Refreshed(Gateway gateway, int tables, int parts, int changed) {}

    /**
     * Creates a gateway, or brings an existing one and its logins up to date.
     *
     * @param name small letters, digits and underscores
     * @param url its database, without a password
     * @param reader the role on the servers that it reads with
     * @param roles of its database, which may use it; PUBLIC for all
     * @param password of the reader; null if the gateway's host knows it, or needs none
     * @throws ShardflakeException if something forbids it; nothing was changed
     */
    public Refreshed deploy(
            String name, String url, String schema, String reader, List<String> roles, @Nullable String password) {
        if (!NAME.matcher(name).matches() || !NAME.matcher(schema).matches()) {
            throw new ShardflakeException(
                    Kind.USAGE,
                    "%s is not a name for a gateway or its schema: small letters, digits and underscores, at most 30, a letter first"
                            .formatted(NAME.matcher(name).matches() ? schema : name),
                    null,
                    null);
        }
        Gateway gateway = new Gateway(name, url, schema, reader, 0, Optional.empty(), false, Optional.empty());
        find(name).ifPresent(known -> {
            if (!known.url().equals(url) || !known.schema().equals(schema)) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "gateway %s is schema %s on %s".formatted(name, known.schema(), known.url()),
                        Advice.of(
                                "choose another name, or remove that one with %s", CliCommand.GATEWAY_DROP.with(name)),
                        null);
            }
        });
        return work(gateway, database -> {
            database.check();
            GatewayDatabase.Wanted wanted = wanted();
            Map<String, Part> first = new TreeMap<>();
            wanted.parts()
                    .forEach(part ->
                            first.putIfAbsent(part.server() + " " + part.table().name(), part));
            for (Part part : first.values()) {
                onServer(wanted, part.server(), connection -> {
                    new GatewayServer(connection, gateway).checkReader(part.server(), part);
                    return part;
                });
            }
            catalog.record(gateway);
            return bring(gateway, database, wanted, new GatewayDatabase.Access(roles, password), LOCK_PATIENCE);
        });
    }

    /** Updates a gateway to the current shard map and tables. */
    public Refreshed refresh(Gateway gateway, Duration patience) {
        try {
            return work(gateway, database -> {
                database.check();
                return bring(gateway, database, wanted(), null, patience);
            });
        } catch (RuntimeException e) {
            catalog.failed(gateway.name(), String.valueOf(e.getMessage()));
            throw e;
        }
    }

    /**
     * The state of a gateway.
     *
     * @param isCurrent whether it reads every shard where the map has it, and has all tables
     * @param problem why that is not known, or why it could not be brought there
     */
    public record Status(Gateway gateway, boolean isCurrent, Optional<String> problem) {}

    /** The state of all gateways, read one after the other. */
    public List<Status> status() {
        List<Status> all = new ArrayList<>();
        for (Gateway gateway : all()) {
            try {
                all.add(work(gateway, database -> {
                    Set<String> wanted = new HashSet<>();
                    wanted().parts().forEach(part -> wanted.add(part.name()));
                    boolean isCurrent = wanted.equals(database.parts());
                    return new Status(gateway, isCurrent, isCurrent ? Optional.empty() : gateway.problem());
                }));
            } catch (RuntimeException e) {
                all.add(new Status(gateway, false, Optional.of(String.valueOf(e.getMessage()))));
            }
        }
        return all;
    }

    /**
     * Removes a gateway and its objects on the servers.
     *
     * @param isGone whether its database is gone, so that only the servers and the catalog are left
     */
    public void drop(Gateway gateway, boolean isGone) {
        if (!isGone) {
            work(gateway, database -> {
                database.check();
                database.drop();
                return gateway;
            });
        }
        Sql.translating(() -> {
            for (Server server : ShardCatalog.at(catalogUrl).load().servers()) {
                Sql.with(urls.apply(server.url()).connect("shardflake gateway"), connection -> {
                    new GatewayServer(connection, gateway).drop();
                    return server;
                });
            }
        });
        catalog.forget(gateway.name());
    }

    private interface DatabaseWork<T> {
        T run(GatewayDatabase database) throws SQLException;
    }

    private <T> T work(Gateway gateway, DatabaseWork<T> work) {
        return Sql.translating(() -> Sql.with(connect(gateway), connection -> {
            GatewayDatabase database = new GatewayDatabase(connection, gateway);
            database.lock(LOCK_PATIENCE);
            return work.run(database);
        }));
    }

    private Connection connect(Gateway gateway) {
        ServerUrl url = urls.apply(gateway.url());
        try {
            return url.connect("shardflake gateway", source -> source.setConnectTimeout(CONNECT_SECONDS));
        } catch (SQLException e) {
            throw new ShardflakeException(
                    Kind.FAILURE,
                    "cannot connect to gateway %s at %s: %s"
                            .formatted(gateway.name(), url, ServerUrl.whyUnreachable(e)),
                    "check that it runs, and the password in PGPASSWORD or ~/.pgpass",
                    e);
        }
    }

    private GatewayDatabase.Wanted wanted() throws SQLException {
        ShardMap map = ShardCatalog.at(catalogUrl).load();
        Map<String, ServerUrl> servers = new LinkedHashMap<>();
        List<Part> parts = new ArrayList<>();
        for (Server server : map.servers()) {
            if (!map.shards(server).isEmpty()) {
                servers.put(server.name(), urls.apply(server.url()));
            }
        }
        List<ShardTable> tables = tables(map, servers);
        tables.forEach(table -> parts.addAll(Part.of(table, map)));
        return new GatewayDatabase.Wanted(map, servers, tables, parts);
    }

    /** The tables of a shard, from the first server that answers: all shards have the same tables. */
    private static List<ShardTable> tables(ShardMap map, Map<String, ServerUrl> servers) throws SQLException {
        @Nullable SQLException silent = null;
        for (Map.Entry<String, ServerUrl> server : servers.entrySet()) {
            ShardSet shards = map.shards(map.server(server.getKey()));
            try {
                List<ShardTable> tables = Sql.with(
                        server.getValue().connect("shardflake gateway"),
                        connection -> ShardTable.of(
                                connection, shards.stream().findFirst().orElseThrow()));
                if (tables.isEmpty()) {
                    throw new ShardflakeException(
                            Kind.PRECONDITION,
                            "the shards have no tables",
                            Advice.of("%s creates them", CliCommand.SCHEMA_DEPLOY),
                            null);
                }
                return tables;
            } catch (SQLException e) {
                if ("3F000".equals(e.getSQLState())) {
                    throw new ShardflakeException(
                            Kind.PRECONDITION,
                            "the shards of %s do not exist".formatted(server.getKey()),
                            Advice.of("%s creates them", CliCommand.SCHEMA_DEPLOY),
                            e);
                }
                silent = e;
            }
        }
        throw silent == null ? new SQLException("no server has a shard") : silent;
    }

    private <T> T onServer(GatewayDatabase.Wanted wanted, String server, Sql.Query<T> work) throws SQLException {
        ServerUrl url = wanted.servers().get(server);
        if (url == null) {
            throw new IllegalStateException("no server " + server);
        }
        return Sql.with(url.connect("shardflake gateway"), work);
    }

    /**
     * Creates the views on the servers, which disturbs no one, and then updates the gateway in one transaction. Views that it used until now
     * stay for queries that have begun; those of before go. Servers of which nothing changes need not answer.
     */
    private Refreshed bring(
            Gateway gateway,
            GatewayDatabase database,
            GatewayDatabase.Wanted wanted,
            GatewayDatabase.@Nullable Access access,
            Duration patience)
            throws SQLException {
        Set<String> used = database.parts();
        Map<String, List<Part>> missing = new TreeMap<>();
        for (Part part : wanted.parts()) {
            if (access != null || !used.contains(part.name())) {
                missing.computeIfAbsent(part.server(), server -> new ArrayList<>())
                        .add(part);
            }
        }
        for (Map.Entry<String, List<Part>> server : missing.entrySet()) {
            onServer(wanted, server.getKey(), connection -> {
                GatewayServer remote = new GatewayServer(connection, gateway);
                remote.dropOthers(used);
                remote.create(server.getValue());
                return remote;
            });
        }
        int changed = database.bring(wanted, access, patience);
        catalog.refreshed(gateway.name(), wanted.map().version());
        return new Refreshed(gateway, wanted.tables().size(), wanted.parts().size(), changed);
    }
}
