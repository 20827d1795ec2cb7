/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;

/**
 * The properties that a move carries although no changelog may contain them: owners, privileges, default privileges and comments.
 * Without its owner, a SECURITY DEFINER function would have the rights of whoever moves its shard.
 */
final class CarriedProperties {

    private static final String STATEMENTS =
            ShardDescription.sql("things.sql") + ",\n" + ShardDescription.sql("carried.sql");

    private static final List<String> PREFIXES =
            List.of("owner of ", "privileges of ", "default privileges for ", "comment on ");

    private static final int OWNER_OF_SCHEMA = 0;
    private static final int OWNERS = 1;
    private static final int PRIVILEGES_OF_SCHEMA = 2;
    private static final int COMMENTS = 6;

    private final Connection source;
    private final Connection target;

    CarriedProperties(Connection source, Connection target) {
        this.source = source;
        this.target = target;
    }

    /** A property of an object, with the statements that remove it and that set it. */
    private record Property(int turn, String object, String value, List<String> clear, List<String> put) {}

    /** Whether a line of {@link ShardDescription} describes such a property. */
    static boolean has(String line) {
        return PREFIXES.stream().anyMatch(line::startsWith);
    }

    /**
     * Sets a shard's properties on the target to those on the source, within the caller's transaction. Both have the same objects.
     */
    void carry(int shard) throws SQLException {
        List<Property> wanted = read(source, shard);
        List<Property> there = read(target, shard);
        // The schema first, in which an owner of what is there has to be allowed to create something.
        for (int owners = OWNER_OF_SCHEMA; owners <= OWNERS; owners++) {
            int now = owners;
            carry(only(wanted, turn -> turn == now), only(there, turn -> turn == now));
        }
        there = read(target, shard); // a new owner gets the privileges of the old one
        // The schema's at once and first, without which nobody but a superuser could name what is in it.
        carryPrivileges(wanted, there, turn -> turn == PRIVILEGES_OF_SCHEMA);
        carryPrivileges(wanted, there, turn -> turn > PRIVILEGES_OF_SCHEMA && turn < COMMENTS);
        carry(only(wanted, turn -> turn == COMMENTS), only(there, turn -> turn == COMMENTS));
    }

    /** Carries all privileges or none, since revoking a table's privileges also revokes its columns'. */
    private void carryPrivileges(List<Property> wanted, List<Property> there, IntPredicate turns) throws SQLException {
        List<Property> privileges = only(wanted, turns);
        List<Property> privilegesThere = only(there, turns);
        if (!values(privileges).equals(values(privilegesThere))) {
            run(Stream.concat(
                    privilegesThere.stream().flatMap(property -> property.clear().stream()),
                    privileges.stream().flatMap(property -> property.put().stream())));
        }
    }

    private void carry(List<Property> wanted, List<Property> there) throws SQLException {
        Map<String, Property> from = byObject(wanted);
        Map<String, Property> to = byObject(there);
        TreeSet<String> objects = new TreeSet<>(from.keySet());
        objects.addAll(to.keySet());
        for (String object : objects) {
            Property want = from.get(object);
            Property have = to.get(object);
            if (want == null) {
                run(have == null ? Stream.of() : have.clear().stream());
            } else if (have == null || !want.value().equals(have.value())) {
                run(want.put().stream());
            }
        }
    }

    private static Map<String, Property> byObject(List<Property> properties) {
        Map<String, Property> byObject = new TreeMap<>();
        properties.forEach(property -> byObject.put(property.object(), property));
        return byObject;
    }

    private static Map<String, String> values(List<Property> properties) {
        Map<String, String> values = new TreeMap<>();
        properties.forEach(property -> values.put(property.object(), property.value()));
        return values;
    }

    private static List<Property> only(List<Property> properties, IntPredicate turns) {
        return properties.stream()
                .filter(property -> turns.test(property.turn()))
                .toList();
    }

    private void run(Stream<String> statements) throws SQLException {
        String all = statements.collect(Collectors.joining(";\n"));
        if (!all.isEmpty()) {
            Sql.execute(target, all);
        }
    }

    private static List<Property> read(Connection connection, int shard) throws SQLException {
        return ShardDescription.query(
                connection,
                STATEMENTS,
                ShardSet.of(shard),
                row -> new Property(
                        row.getInt(1),
                        row.getString(2),
                        String.valueOf(row.getString(3)),
                        List.of((String[]) row.getArray(4).getArray()),
                        List.of((String[]) row.getArray(5).getArray())));
    }
}
