/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Function;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.jdbc.Sql;
import org.shardflake.replication.Replication;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.InstallationIdentity;

/**
 * Turns a clone of an installation, with all databases restored elsewhere, into a separate installation. Can be repeated after an interruption.
 *
 * <p>The clone's catalog has the addresses of the original's servers until then, so the new ones are given, all of them, and nothing else is
 * connected to but to see that it is not the same.
 */
public final class Separation {

    private static final String APPLICATION = "shardflake separate";
    private static final String REASON = "separated from installation ";

    private static final String SUBSCRIPTIONS = """
            SELECT quote_ident(subname) FROM pg_subscription
             WHERE subname LIKE 'shardflake\\_%' AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
            """;

    private final ServerUrl catalog;
    private final Function<String, ServerUrl> urls;

    /** @param urls a URL with what is needed to log in */
    public Separation(ServerUrl catalog, Function<String, ServerUrl> urls) {
        this.catalog = catalog;
        this.urls = urls;
    }

    /**
     * The result of a separation.
     *
     * @param subscriptions how many subscriptions, which would have followed the original, were removed
     */
    public record Separated(InstallationIdentity before, InstallationIdentity now, int subscriptions) {}

    /**
     * Checks that these are the addresses of a clone.
     *
     * @param addresses the URL of each server of the map, by name
     * @throws ShardflakeException if one is missing, or leads to the original
     */
    public void check(Map<String, String> addresses) {
        Sql.translating(() -> {
            plan(addresses);
            return true;
        });
    }

    /** Runs the separation. */
    public Separated run(Map<String, String> addresses) {
        return Sql.translating(() -> {
            Plan plan = plan(addresses);
            if (!plan.hasAddresses()) {
                moveTo(addresses, plan.before());
            }
            Sql.with(catalog.connect(APPLICATION), connection -> {
                plan.now().recordInCatalog(connection);
                return true;
            });
            int subscriptions = 0;
            for (String url : addresses.values()) {
                try (Connection connection = urls.apply(url).connect(APPLICATION)) {
                    for (String name : Sql.list(connection, SUBSCRIPTIONS, row -> row.getString(1))) {
                        Replication.dropSubscription(connection, name, "");
                        subscriptions++;
                    }
                    plan.now().recordOn(connection);
                }
            }
            return new Separated(plan.before(), plan.now(), subscriptions);
        });
    }

    /** Changes the addresses before the identity, so that an interrupted run leaves the reason in the history that marks this as a clone. */
    private void moveTo(Map<String, String> addresses, InstallationIdentity before) {
        ShardCatalog shards = ShardCatalog.at(catalog);
        ShardMap map = shards.load();
        Map<String, Server> servers = new LinkedHashMap<>();
        map.servers()
                .forEach(server -> servers.put(
                        server.name(),
                        new Server(
                                server.name(),
                                Objects.requireNonNull(addresses.get(server.name())),
                                Optional.empty(),
                                server.labels())));
        shards.importMap(
                ShardMap.of(
                        map.version(),
                        map.sharding(),
                        map.layout(),
                        List.copyOf(servers.values()),
                        shard -> new ShardPlacement(
                                shard,
                                Objects.requireNonNull(
                                        servers.get(map.server(shard).name())),
                                map.placement(shard).epoch())),
                REASON + before.id());
    }

    /** @param hasAddresses whether the catalog has the new addresses already */
    private record Plan(InstallationIdentity before, InstallationIdentity now, boolean hasAddresses) {}

    private Plan plan(Map<String, String> addresses) throws SQLException {
        ShardMap map = ShardCatalog.at(catalog).load();
        requireAll(map, addresses);
        InstallationIdentity own = Sql.with(catalog.connect(APPLICATION), InstallationIdentity::ofCatalog)
                .orElseThrow(() -> new ShardflakeException(
                        Kind.PRECONDITION,
                        "the catalog is of an older version, which has no identity",
                        Advice.of("run %s with the original, and clone it then", CliCommand.UPGRADE),
                        null));
        Set<InstallationIdentity> remembered = new HashSet<>();
        Map<String, String> running = new LinkedHashMap<>();
        for (Map.Entry<String, String> address : addresses.entrySet()) {
            try (Connection connection = urls.apply(address.getValue()).connect(APPLICATION)) {
                InstallationIdentity.ofServer(connection).ifPresent(remembered::add);
                String same = running.putIfAbsent(running(connection), address.getKey());
                if (same != null) {
                    throw refused(
                            "%s and %s are the same database".formatted(same, address.getKey()),
                            "give each server its own address");
                }
            }
        }
        boolean isMoved = map.servers().stream().allMatch(server -> server.url().equals(addresses.get(server.name())));
        if (isMoved) {
            return resumed(own, remembered);
        }
        remembered.remove(own);
        if (!remembered.isEmpty()) {
            throw refused(
                    "a server there belongs to another installation, %s"
                            .formatted(remembered.iterator().next()),
                    "give the addresses of the clone's servers");
        }
        for (Server server : map.servers()) {
            requireElsewhere(server, running);
        }
        return new Plan(own, ofItsOwn(own), false);
    }

    private static void requireAll(ShardMap map, Map<String, String> addresses) {
        Set<String> names = new TreeSet<>();
        map.servers().forEach(server -> names.add(server.name()));
        if (!names.equals(new TreeSet<>(addresses.keySet()))) {
            throw new ShardflakeException(
                    Kind.USAGE,
                    "addresses were given for servers %s, and the map has %s"
                            .formatted(new TreeSet<>(addresses.keySet()), names),
                    "give the address of each server's clone: what is left out would lead to the original",
                    null);
        }
    }

    /** Resumes an interrupted separation, recognized by its reason in the history. */
    private Plan resumed(InstallationIdentity own, Set<InstallationIdentity> remembered) throws SQLException {
        remembered.remove(own);
        if (remembered.isEmpty() && isReason(own)) {
            return new Plan(own, ofItsOwn(own), true);
        }
        if (remembered.size() == 1 && isReason(remembered.iterator().next())) {
            return new Plan(remembered.iterator().next(), own, true);
        }
        throw refused(
                "these are the addresses that the catalog has",
                "give those of the clone's servers; if this is no clone, there is nothing to separate");
    }

    private boolean isReason(InstallationIdentity before) throws SQLException {
        return Sql.with(
                catalog.connect(APPLICATION),
                connection -> Sql.isTrue(
                        connection,
                        "SELECT EXISTS (SELECT FROM shardflake_catalog.history WHERE reason = ?)",
                        REASON + before.id()));
    }

    private static InstallationIdentity ofItsOwn(InstallationIdentity before) {
        return new InstallationIdentity(UUID.randomUUID(), before.shardCount());
    }

    /** Requires that an old address which answers is not one of the new ones under another name. */
    private void requireElsewhere(Server original, Map<String, String> running) {
        try (Connection connection = urls.apply(original.url()).connect(APPLICATION)) {
            String clone = running.get(running(connection));
            if (clone != null) {
                throw refused(
                        "the address given for %s leads to the original's %s".formatted(clone, original.name()),
                        "give the address of its clone");
            }
        } catch (SQLException e) {
            // It cannot be reached from here, which is as it should be.
        }
    }

    /** Identifies a running server: a clone has its original's system identifier, but another start time. */
    private static String running(Connection connection) throws SQLException {
        return Sql.text(
                connection,
                "SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), (SELECT oid FROM pg_database WHERE datname = current_database()), current_setting('port'))");
    }

    private static ShardflakeException refused(String message, CharSequence hint) {
        return new ShardflakeException(Kind.PRECONDITION, message + ". Nothing was changed", hint, null);
    }
}
