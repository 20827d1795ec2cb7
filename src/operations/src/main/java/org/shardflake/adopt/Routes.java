/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toCollection;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;

/** The routes of a database's tables, each listed after those that it depends on. */
final class Routes {

    private final AdoptSession session;
    private final List<AdoptTable> tables;
    private final Map<String, TableFacts> facts = new LinkedHashMap<>();
    private final Map<String, Route> routes = new LinkedHashMap<>();
    private final Map<String, AdoptTable> byName = new LinkedHashMap<>();
    private final Map<String, String> into = new LinkedHashMap<>();
    private final Map<String, AdoptTable> parents = new HashMap<>();

    Routes(AdoptSession session, List<AdoptTable> tables) throws SQLException {
        this.session = session;
        this.tables = tables;
        for (AdoptTable one : tables) {
            TableFacts found = Adopter.find(one.table(), session);
            if (byName.put(found.name(), one) != null) {
                throw new AdoptRefusedException("table %s is named twice".formatted(found.name()), "name it once");
            }
            facts.put(one.table(), found);
            String target =
                    one.into() == null ? begun(found).map(Adoption::into).orElse(found.plainName()) : one.into();
            if (into.containsValue(target)) {
                throw new AdoptRefusedException(
                        "rows of two tables would go into %s of the shards, the second is %s"
                                .formatted(target, found.name()),
                        "a table of the shards has the rows of one table");
            }
            into.put(found.name(), target);
        }
        for (AdoptTable one : tables) {
            route(one, new LinkedHashSet<>());
        }
    }

    /**
     * A table with its route.
     *
     * @param into the table in the shards, without a schema and not quoted
     * @param level the distance from the key: 0 if the table has the key itself
     */
    record Placed(String into, Adopter.Routed routed, int level) {

        String name() {
            return routed.route().table().name();
        }
    }

    /** All tables, those with the key first. */
    List<Placed> placed() {
        List<Placed> placed = new ArrayList<>();
        routes.forEach((name, route) -> {
            List<Route> children = routes.values().stream()
                    .filter(child -> child.link() != null
                            && child.link()
                                    .parent()
                                    .table()
                                    .name()
                                    .equals(route.table().name()))
                    .toList();
            String target = Objects.requireNonNull(into.get(name));
            placed.add(new Placed(target, new Adopter.Routed(route, children), level(route)));
        });
        placed.sort(Comparator.comparingInt(Placed::level));
        return placed;
    }

    private static int level(Route route) {
        return route.link() == null ? 0 : 1 + level(route.link().parent());
    }

    private Route route(AdoptTable one, Set<String> before) throws SQLException {
        TableFacts table = facts(one.table());
        Route known = routes.get(table.name());
        if (known != null) {
            return known;
        }
        if (!before.add(table.name())) {
            throw new AdoptRefusedException(
                    "%s lead to each other, and to no key".formatted(String.join(", ", before)),
                    "give one of them a path to a table with the key");
        }
        Route route = one.parent() == null
                ? Route.byKey(table, key(table, one.key()), session.map().sharding(), referred(table))
                : Route.byLink(
                        session.old(),
                        table,
                        Objects.requireNonNull(one.key()),
                        new Route.Link(one.columns(), route(parent(one), before), one.parentColumns()),
                        referred(table));
        routes.put(table.name(), route);
        return route;
    }

    private Column key(TableFacts table, @Nullable String given) throws SQLException {
        String name = given == null ? saidKey(table) : given;
        return table.column(name)
                .orElseThrow(() -> new AdoptRefusedException(
                        "table %s has no column %s".formatted(table.name(), name),
                        Advice.of(
                                "its columns are %s; a table without the key gets it by a path in a plan, which %s makes",
                                table.columns().stream().map(Column::name).collect(joining(", ")),
                                CliCommand.ADOPT_PLAN)));
    }

    private Optional<Adoption> begun(TableFacts table) throws SQLException {
        return new ChangeJournal(session.old(), table).find();
    }

    /** The key of an adoption that has begun, or the one that the shards' table says by a comment. */
    private String saidKey(TableFacts table) throws SQLException {
        Optional<String> begun =
                begun(table).map(Adoption::key).filter(key -> table.column(key).isPresent());
        if (begun.isPresent()) {
            return begun.get();
        }
        String target = Objects.requireNonNull(into.get(table.name()));
        try (ShardServers servers = new ShardServers(session, target)) {
            String said = servers.table().shardKey();
            if (said == null) {
                throw new AdoptRefusedException(
                        "by which column do the rows of %s belong to a shard?".formatted(table.name()),
                        Advice.of(
                                "name it, %s, or in the changelog of the shards: COMMENT ON COLUMN %s.uid IS 'shard key'",
                                CliCommand.ADOPT_RUN.ofTables(List.of(table.name()), "COLUMN", null), target));
            }
            return said;
        }
    }

    private AdoptTable parent(AdoptTable child) throws SQLException {
        AdoptTable known = parents.get(child.table());
        if (known != null) {
            return known;
        }
        TableFacts parent = Adopter.find(String.valueOf(child.parent()), session);
        AdoptTable table = byName.get(parent.name());
        if (table == null) {
            throw new AdoptRefusedException(
                    "%s gets its keys from %s, which is not adopted".formatted(child.table(), parent.name()),
                    "let that table go into the shards too");
        }
        parents.put(child.table(), table);
        return table;
    }

    private TableFacts facts(String table) {
        return Objects.requireNonNull(facts.get(table));
    }

    /** The columns by which other tables find their keys through a table. */
    private Set<List<String>> referred(TableFacts table) throws SQLException {
        List<AdoptTable> children = new ArrayList<>();
        for (AdoptTable one : tables) {
            if (one.parent() != null && facts(parent(one).table()).name().equals(table.name())) {
                children.add(one);
            }
        }
        return children.stream().map(AdoptTable::parentColumns).collect(toCollection(LinkedHashSet::new));
    }
}
