/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.replication;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/**
 * The settings with which a server's replication workers parse values given as text. They have what the role, the database and the server set,
 * unlike the sessions of commands.
 *
 * @param server its name
 * @param hasXml whether shards have columns of this type there
 * @param hasMoney whether shards have columns of this type there
 */
public record WorkerSettings(String server, Map<String, String> values, boolean hasXml, boolean hasMoney) {

    /** The advice for every problem. */
    public static final String REMEDY =
            "take it back where it was set, since replication has it too: ALTER ROLE ... RESET, ALTER DATABASE ... RESET, or postgresql.conf";

    private static final String MONEY = "lc_monetary";

    private static final String HAS_COLUMN = """
            SELECT EXISTS (SELECT FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
              JOIN pg_type y ON y.oid = a.atttypid
             WHERE n.nspname = ANY (?) AND ?::regtype IN (y.oid, y.typelem, y.typbasetype))
            """;

    /**
     * A setting that would change replicated values.
     *
     * @param server where it is set
     */
    public record Problem(String server, String found) {
        @Override
        public String toString() {
            return found;
        }
    }

    /**
     * The settings of a server.
     *
     * @param connection to the server, for what its shards have
     */
    public static WorkerSettings read(String server, ServerUrl url, Connection connection, ShardSet shards)
            throws SQLException {
        return new WorkerSettings(
                server,
                url.ownSettings("array_nulls", "xmloption", MONEY),
                Sql.isTrue(connection, HAS_COLUMN, shards, "xml"),
                Sql.isTrue(connection, HAS_COLUMN, shards, "money"));
    }

    /** The settings that would change values that servers replicate to each other. */
    public static List<Problem> problems(Collection<WorkerSettings> servers) {
        List<Problem> problems = new ArrayList<>();
        boolean anyXml = servers.stream().anyMatch(WorkerSettings::hasXml);
        boolean anyMoney = servers.stream().anyMatch(WorkerSettings::hasMoney);
        WorkerSettings first = null;
        for (WorkerSettings its : servers) {
            if (its.is("array_nulls", "off")) {
                its.add("array_nulls is off on %s, where a NULL in an array would become a text", problems);
            }
            if (anyXml && its.is("xmloption", "document")) {
                its.add("xmloption is document on %s, which would refuse other XML", problems);
            }
            if (first == null) {
                first = its;
            } else if (anyMoney && !its.is(MONEY, first.values.get(MONEY))) {
                problems.add(new Problem(
                        its.server,
                        "lc_monetary is %s on %s and %s on %s, and amounts of money would change"
                                .formatted(first.values.get(MONEY), first.server, its.values.get(MONEY), its.server)));
            }
        }
        return problems;
    }

    private boolean is(String setting, @Nullable String value) {
        return Objects.equals(value, values.get(setting));
    }

    private void add(String found, List<Problem> problems) {
        problems.add(new Problem(server, found.formatted(server)));
    }
}
