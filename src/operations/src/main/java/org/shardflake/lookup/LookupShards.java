/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.catalog.LookupDefinition.State;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;

/** The objects of the catalog's lookups in the shards of one server. */
public final class LookupShards {

    /** The number of shards in one statement, which locks one more table for each. */
    private static final int SHARDS_AT_A_TIME = 200;

    private static final String HAVE_TABLES =
            "SELECT right(n.nspname, 4)::integer FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = 'shardflake_lookup' AND n.nspname = ANY (?)";

    private static final String DROPPED =
            "SELECT lookup, %s FROM %s.shardflake_lookup WHERE lookup = ANY (?) AND value = '' AND member = ''";

    private LookupShards() {}

    /**
     * Finds problems with lookups in the shards of a server.
     *
     * @param lookups all that the catalog has
     * @param shards those of the server that are in no move
     */
    public static List<LookupTrouble> examine(
            Connection connection, String server, List<LookupDefinition> lookups, ShardSet shards) throws SQLException {
        List<LookupTrouble> troubles = new ArrayList<>();
        List<LookupDefinition> made = lookups.stream()
                .filter(lookup -> lookup.state() == State.FILLING || lookup.state() == State.READY)
                .toList();
        if (made.isEmpty() || shards.isEmpty()) {
            return troubles;
        }
        List<Integer> have = Sql.list(connection, HAVE_TABLES, row -> row.getInt(1), shards);
        if (have.size() < shards.size()) {
            TreeSet<Integer> lacking = shards.stream().boxed().collect(Collectors.toCollection(TreeSet::new));
            have.forEach(lacking::remove);
            troubles.add(new LookupTrouble(
                    "lookup-tables",
                    "%s the tables of lookups, so values that belong there cannot be claimed or found"
                            .formatted(Plural.shards(ShardSet.of(lacking), "lacks", "lack")),
                    Advice.of("%s brings them", CliCommand.SCHEMA_DEPLOY)));
        }
        Map<Integer, List<Integer>> dropped = dropped(connection, made, have);
        for (LookupDefinition lookup : made) {
            if (dropped.containsKey(lookup.number())) {
                troubles.add(new LookupTrouble(
                        "lookup-dropped",
                        "lookup %s is %s in the catalog, and was dropped in %s, as after a restore of the catalog to an earlier moment; %s it"
                                .formatted(
                                        lookup.name(),
                                        lookup.state(),
                                        Plural.shards(ShardSet.of(dropped.get(lookup.number()))),
                                        Plural.choose(
                                                ShardSet.of(dropped.get(lookup.number())),
                                                "that shard refuses",
                                                "they refuse")),
                        Advice.of(
                                "make it again: %s, %s, %s",
                                CliCommand.LOOKUP_DROP.with(lookup.name()),
                                CliCommand.LOOKUP_CREATE.with(lookup.name()),
                                CliCommand.LOOKUP_BACKFILL.with(lookup.name()))));
            }
            if (lookup.source().isPresent()) {
                LookupDefinition.Source source = lookup.source().get();
                SourceColumns.lacks(source, SourceColumns.read(connection, server, shards, source.table()))
                        .ifPresent(lacks -> troubles.add(new LookupTrouble(
                                "lookup-source",
                                "%s, whose values lookup %s finds".formatted(lacks, lookup.name()),
                                Advice.of(
                                        "bring it back with a changelog, or drop the lookup with %s",
                                        CliCommand.LOOKUP_DROP.with(lookup.name())))));
            }
        }
        return troubles;
    }

    private static Map<Integer, List<Integer>> dropped(
            Connection connection, List<LookupDefinition> lookups, List<Integer> shards) throws SQLException {
        Map<Integer, List<Integer>> dropped = new TreeMap<>();
        for (int from = 0; from < shards.size(); from += SHARDS_AT_A_TIME) {
            List<Integer> some = shards.subList(from, Math.min(shards.size(), from + SHARDS_AT_A_TIME));
            Object[] numbers = new Object[some.size()];
            Arrays.fill(
                    numbers,
                    connection.createArrayOf(
                            "integer",
                            lookups.stream().map(LookupDefinition::number).toArray()));
            Sql.list(
                    connection,
                    some.stream()
                            .map(shard -> DROPPED.formatted(shard, Sharding.schema(shard)))
                            .collect(Collectors.joining(" UNION ALL ")),
                    row -> dropped.computeIfAbsent(row.getInt(1), number -> new ArrayList<>())
                            .add(row.getInt(2)),
                    numbers);
        }
        return dropped;
    }
}
