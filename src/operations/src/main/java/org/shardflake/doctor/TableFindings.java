/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.PROBLEM;
import static org.shardflake.doctor.Severity.WARNING;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.compare.ForeignKeys;
import org.shardflake.compare.ForeignKeys.ForeignKey;
import org.shardflake.compare.LargeObjects;
import org.shardflake.deploy.SchemaChecks;
import org.shardflake.deploy.StrayRows;
import org.shardflake.grants.RowSecurity;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;

/** Finds tables whose rows are, or can get, in the wrong place. */
final class TableFindings {

    private static final String RELATIVES = """
            SELECT c.oid::regclass || ' with ' || o.oid::regclass
              FROM pg_inherits i
              JOIN pg_class p ON p.oid = i.inhparent AND p.relkind IN ('r', 'p', 'f')
              JOIN pg_class h ON h.oid = i.inhrelid AND h.relnamespace <> p.relnamespace
             CROSS JOIN LATERAL (VALUES (p.oid, h.oid, p.relnamespace), (h.oid, p.oid, h.relnamespace)) pair (table_oid, other_oid, namespace)
              JOIN pg_class c ON c.oid = pair.table_oid
              JOIN pg_class o ON o.oid = pair.other_oid
              JOIN pg_namespace n ON n.oid = pair.namespace AND n.nspname ~ '^shard_[0-9]{4}$'
             ORDER BY 1
            """;

    private static final String IN_PUBLIC = """
            SELECT quote_ident(c.relname) FROM pg_class c
             WHERE c.relnamespace = to_regnamespace('public') AND c.relkind IN ('r', 'p')
               AND EXISTS (SELECT FROM pg_class s JOIN pg_namespace n ON n.oid = s.relnamespace AND n.nspname ~ '^shard_[0-9]{4}$'
                            WHERE s.relname = c.relname AND s.relkind IN ('r', 'p'))
             ORDER BY 1
            """;

    private static final String TABLES_OF_SHARDS =
            "SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname ~ '^shard_[0-9]{4}$' AND c.relkind = 'r'";

    private TableFindings() {}

    /** Examines only the definitions of tables. */
    static List<Finding> of(ObservedState observed, DoctorConnections access) {
        List<Finding> findings = new ArrayList<>();
        for (String server : observed.facts().keySet()) {
            onServer(access, server, findings, connection -> {
                addHidden(connection, server, findings);
                List<String> relatives = list(connection, RELATIVES);
                if (!relatives.isEmpty()) {
                    findings.add(
                            Finding.of(
                                    PROBLEM,
                                    server,
                                    "table-outside",
                                    String.format(
                                            Locale.ROOT,
                                            "has %s of shards with relatives outside, so writes bypass fences: %s",
                                            Plural.of(relatives.size(), "table"),
                                            relatives.get(0)),
                                    "take them apart with ALTER TABLE ... NO INHERIT or DETACH PARTITION, or bring both into the shard's schema"));
                }
                List<LargeObjects.Reference> large = LargeObjects.referred(connection, TABLES_OF_SHARDS);
                LargeObjects.named(large)
                        .ifPresent(columns -> findings.add(Finding.of(
                                WARNING,
                                server,
                                "large-objects",
                                String.format(
                                        Locale.ROOT,
                                        "has columns in %s that may refer to large objects, which moves leave behind: %s",
                                        Plural.of(
                                                large.stream()
                                                        .map(LargeObjects.Reference::schema)
                                                        .distinct()
                                                        .count(),
                                                "shard"),
                                        columns),
                                LargeObjects.REMEDY)));
                List<String> inPublic = list(connection, IN_PUBLIC);
                if (!inPublic.isEmpty()) {
                    findings.add(
                            Finding.of(
                                    WARNING,
                                    server,
                                    "table-in-public",
                                    "has tables in public that shards have too: %s"
                                            .formatted(String.join(", ", inPublic)),
                                    "see whether rows went there that belong to shards, bring them there, and drop it; hibernate.hbm2ddl.auto=update creates such tables"));
                }
            });
        }
        return findings;
    }

    /** Reports objects that the role cannot see, as problems there stay undetected. */
    private static void addHidden(Connection connection, String server, List<Finding> findings) throws SQLException {
        List<String> hidden = RowSecurity.hidden(connection);
        if (!hidden.isEmpty()) {
            String role = Sql.text(connection, "SELECT quote_ident(current_user)");
            findings.add(Finding.of(
                    WARNING,
                    server,
                    "rows-hidden",
                    String.format(
                            Locale.ROOT,
                            "has %s whose row-level security hides rows from %s, so commands of that role refuse to read them: %s",
                            Plural.of(hidden.size(), "table"),
                            role,
                            hidden.get(0)),
                    "ALTER ROLE %s BYPASSRLS, or run the command as another role".formatted(role)));
        }
    }

    static void onServer(DoctorConnections access, String server, List<Finding> findings, DoctorConnections.Work work) {
        try {
            access.onServer(server, work);
        } catch (SQLException e) {
            findings.add(Finding.of(
                    PROBLEM,
                    server,
                    "server-readable",
                    "cannot be examined: " + Sql.message(e),
                    "check that it runs, and that this user may read everything"));
        }
    }

    private static List<String> list(Connection connection, String sql) throws SQLException {
        return Sql.list(connection, sql, row -> row.getString(1));
    }

    /** Reads the tables of all shards that have foreign keys or lack a valid check. */
    static List<Finding> ofRows(ObservedState observed, DoctorConnections access) {
        List<Finding> findings = new ArrayList<>();
        for (Map.Entry<String, ServerFacts> one : observed.facts().entrySet()) {
            String server = one.getKey();
            if (!one.getValue().libraryIsCurrent()) {
                continue; // a separate finding
            }
            ShardSet shards = ShardSet.of(one.getValue().shards().keySet().stream()
                    .filter(shard -> shard < observed.map().sharding().shardCount()
                            && observed.owner(shard).equals(server))
                    .toList());
            onServer(access, server, findings, connection -> {
                List<ForeignKeys.Rows> broken = ForeignKeys.broken(
                        connection,
                        ForeignKeys.of(
                                connection,
                                "SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (?)",
                                shards));
                for (String line : ForeignKeys.lines(broken, ForeignKey::isValid)) {
                    findings.add(
                            Finding.of(
                                    PROBLEM,
                                    server,
                                    "foreign-key-broken",
                                    "has rows that refer to missing ones: " + line,
                                    "bring the missing rows to their shard, or delete those that refer to them: such a shard cannot be moved"));
                }
                for (String line : ForeignKeys.lines(broken, key -> !key.isValid())) {
                    findings.add(Finding.of(
                            WARNING,
                            server,
                            "foreign-key-broken",
                            "has rows that refer to missing ones, by a foreign key that is NOT VALID: " + line,
                            "correct these rows, then ALTER TABLE ... VALIDATE CONSTRAINT"));
                }
                for (StrayRows strays : SchemaChecks.strays(connection, server, shards)) {
                    findings.add(Finding.of(
                            PROBLEM,
                            server,
                            "rows-of-other-shards",
                            strays.toString(),
                            Advice.of(
                                    "bring them to their shards, or, for ids from before, leave them; then %s keeps others out",
                                    CliCommand.SCHEMA_CHECK)));
                }
            });
        }
        return findings;
    }
}
