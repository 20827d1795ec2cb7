/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.jdbc.Sql;

/**
 * A Liquibase changelog for reference tables, which every server has in the same schema. Closing it closes its files.
 *
 * <p>Each server has its own history, in the table that has those of its shards.
 */
public final class ReferenceChangelog implements AutoCloseable {

    /** The schema of the reference tables, on every server. */
    public static final String SCHEMA = "reference";

    private static final String HAD = """
            SELECT substr(filename, length(?) + 1), id, author, md5sum, filename, description, orderexecuted, deployment_id, exectype
              FROM %s WHERE starts_with(filename, ?) ORDER BY orderexecuted, dateexecuted
            """.formatted(ShardHistory.TABLE);

    private static final String OUTSIDE = """
            SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE c.xmin = pg_current_xact_id()::xid AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
               AND n.nspname <> 'reference' AND n.nspname !~ '^(pg_|shardflake)'
               AND NOT EXISTS (SELECT FROM pg_constraint k JOIN pg_class f ON f.oid = k.confrelid
                                WHERE k.conrelid = c.oid AND f.relnamespace = to_regnamespace('reference'))
             ORDER BY 1 LIMIT 1
            """;

    private final ShardChangelog changelog;
    private final DeploySettings settings;
    private final List<ShardChangeSet> changeSets;

    private ReferenceChangelog(ShardChangelog changelog, DeploySettings settings) {
        this.changelog = changelog;
        this.settings = settings;
        this.changeSets = changelog.read();
    }

    /**
     * Reads a changelog.
     *
     * @throws DeployException if it cannot be read
     * @throws DeployRefusedException if it has what cannot be done on all servers at the same moment, or belongs to another schema
     */
    public static ReferenceChangelog open(Path file, DeploySettings settings) {
        if (settings.flyway().isPresent()) {
            throw new DeployRefusedException(
                    "reference tables have a changelog of Liquibase's, and not Flyway's migrations: write one, in formatted SQL for example");
        }
        ShardChangelog changelog = ShardChangelog.open(file, settings);
        try {
            ReferenceChangelog reference = new ReferenceChangelog(changelog, settings);
            reference.check();
            return reference;
        } catch (RuntimeException e) {
            changelog.close();
            throw e;
        }
    }

    private void check() {
        for (ShardChangeSet changeSet : changeSets) {
            if (changeSet.refusal().isPresent()) {
                throw new DeployRefusedException("changeset %s %s"
                        .formatted(changeSet.key(), changeSet.refusal().get()));
            }
            if (!changeSet.inTransaction()) {
                throw new DeployRefusedException(
                        "changeset %s has runInTransaction:false, and reference tables change on all servers in one moment: leave it out, and CONCURRENTLY, too, since the tables are small"
                                .formatted(changeSet.key()));
            }
            if (changeSet.hasPreconditions() || changeSet.runAlways()) {
                throw new DeployRefusedException(
                        "changeset %s has %s, and reference tables have had the same changesets on every server: leave it out"
                                .formatted(changeSet.key(), changeSet.runAlways() ? "runAlways" : "preconditions"));
            }
            for (String sql : changeSet.sql()) {
                StraySql.findInReference(sql, settings.allowPublic()).ifPresent(stray -> {
                    throw new DeployRefusedException("changeset %s (%s) %s"
                            .formatted(
                                    changeSet.key(),
                                    changelog.place(changeSet, sql, stray.at()),
                                    stray.use()
                                            .what()
                                            .replace("the shard's own is meant", "schema reference is meant")
                                            .replace(
                                                    "which all shards of a server share",
                                                    "which replication leaves alone")
                                            .replace(
                                                    ", which all shards of a server would share, and the last one fill: leave it out; every shard has its own schema",
                                                    ", and reference tables have their own schema: leave it out")
                                            .replace(
                                                    ", and every shard would be given it: leave the schema out, or write ${shard.schema}",
                                                    ", and reference tables do not depend on shards: leave it out")));
                });
            }
        }
    }

    /**
     * The number of changesets that a server lacks.
     *
     * @throws DeployRefusedException if one was edited after the server had it
     */
    public int pending(Connection connection, String server) throws SQLException {
        return pendingOn(connection, server).size();
    }

    private List<ShardChangeSet> pendingOn(Connection connection, String server) throws SQLException {
        Map<String, @Nullable String> had = new HashMap<>();
        if (ShardHistory.exists(connection)) {
            read(connection).forEach(line -> had.put(line.key(), line.checksum()));
        }
        List<ShardChangeSet> pending = new ArrayList<>();
        Set<String> keys = changeSets.stream().map(ShardChangeSet::key).collect(Collectors.toSet());
        for (ShardChangeSet changeSet : changeSets) {
            boolean isEdited = ServerDeployment.isEdited(changeSet, had);
            if (!had.containsKey(changeSet.key())) {
                ServerDeployment.renamed(changeSet, had, keys).ifPresent(before -> {
                    throw new DeployRefusedException(
                            "server %s has had changeset %s as %s".formatted(server, changeSet.key(), before),
                            ServerDeployment.SAME);
                });
                pending.add(changeSet);
            } else if (isEdited && changeSet.runOnChange()) {
                pending.add(changeSet);
            } else if (isEdited) {
                throw new DeployRefusedException(
                        "changeset %s was edited after server %s had it: its checksum was %s, now it is %s"
                                .formatted(changeSet.key(), server, had.get(changeSet.key()), changeSet.checksum()),
                        ServerDeployment.EDITED);
            }
        }
        return pending;
    }

    /**
     * Runs the changesets that a server lacks, in the connection's transaction, which the caller ends.
     *
     * @throws DeployException if a changeset fails, or changes something outside the schema
     */
    public void run(Connection connection, String server) throws SQLException {
        DeployedSql.record(connection, changeSets);
        limit(connection, settings);
        int order = ShardHistory.lastOrder(connection);
        String now = String.valueOf(System.currentTimeMillis());
        for (ShardChangeSet changeSet : pendingOn(connection, server)) {
            changeSet.later().ifPresent(later -> later.makeOnce(connection, SCHEMA));
            DeployedSql.record(connection, List.of(changeSet));
            run(connection, server, changeSet.key(), changeSet.sql());
            Sql.execute(
                    connection,
                    ShardHistory.recordSql(SCHEMA, changeSet, "RERAN", ++order, now.substring(now.length() - 10)));
            refuseOutside(connection, changeSet.key());
        }
        Sql.execute(connection, SearchPath.OURS);
    }

    private static void refuseOutside(Connection connection, String key) throws SQLException {
        for (String outside : Sql.list(connection, OUTSIDE, row -> row.getString(1))) {
            throw new DeployRefusedException(
                    "changeset %s changes %s, which is outside schema reference".formatted(key, outside),
                    Advice.of("deploy that another way; what is in shards with %s", CliCommand.SCHEMA_DEPLOY));
        }
    }

    private static void limit(Connection connection, DeploySettings settings) throws SQLException {
        Sql.execute(
                connection,
                "SET LOCAL lock_timeout = %s; SET LOCAL statement_timeout = %s"
                        .formatted(
                                settings.lockTimeout().toMillis(),
                                settings.statementTimeout().toMillis()));
    }

    private static void run(Connection connection, String server, String key, List<String> sql) throws SQLException {
        Sql.execute(connection, SearchPath.of(SCHEMA));
        for (String statement : sql) {
            try {
                Sql.execute(connection, ShardChangeSet.forShard(statement, SCHEMA));
            } catch (SQLException e) {
                if (Sql.isInTheWay(e) || Sql.isOutage(e)) {
                    throw e;
                }
                throw new DeployException(
                        "changeset %s failed on %s: %s\nstatement: %s\nHint: no server was changed; fix the changelog, then run the same command again"
                                .formatted(key, server, e.getMessage(), statement.replaceAll("\\s+", " ")));
            }
        }
        Sql.execute(connection, SearchPath.OURS);
    }

    /** A changeset in a server's history. */
    private record Line(
            String path,
            String id,
            String author,
            @Nullable String checksum,
            String file,
            String description,
            String deployment) {

        String key() {
            return path + "::" + id + "::" + author;
        }
    }

    private static List<Line> read(Connection connection) throws SQLException {
        return Sql.list(
                connection,
                HAD,
                row -> new Line(
                        row.getString(1),
                        row.getString(2),
                        row.getString(3),
                        row.getString(4),
                        row.getString(5),
                        row.getString(6),
                        row.getString(8)),
                SCHEMA + "/",
                SCHEMA + "/");
    }

    /** Creates the tables of the history where they are missing. */
    public static void prepare(Connection connection) throws SQLException {
        ShardHistory.create(connection);
    }

    /** Whether a server lacks changesets that another one has had. */
    public static boolean lacks(Connection from, Connection to) throws SQLException {
        return !ShardHistory.exists(to) || !missing(from, to).isEmpty();
    }

    private static List<Line> missing(Connection from, Connection to) throws SQLException {
        Map<String, @Nullable String> had = new HashMap<>();
        read(to).forEach(line -> had.put(line.key(), line.checksum()));
        List<Line> missing = new ArrayList<>(read(from));
        missing.removeIf(line -> String.valueOf(line.checksum()).equals(had.get(line.key())));
        return missing;
    }

    /** Runs the changesets that another server has had, in the connection's transaction, which the caller ends. */
    public static void copy(Connection from, Connection to, String server) throws SQLException {
        limit(to, DeploySettings.defaults(Path.of("")));
        int order = ShardHistory.lastOrder(to);
        for (Line line : missing(from, to)) {
            List<String[]> sql = Sql.list(
                    from,
                    "SELECT sql FROM %s WHERE filename = ? AND id = ? AND author = ? AND md5sum = ?"
                            .formatted(DeployedSql.TABLE),
                    row -> (String[]) row.getArray(1).getArray(),
                    line.path(),
                    line.id(),
                    line.author(),
                    line.checksum());
            if (sql.isEmpty()) {
                throw new DeployRefusedException(
                        "no server remembers the SQL of changeset %s".formatted(line.key()),
                        Advice.of("run %s with your changelog", CliCommand.REFERENCE_DEPLOY));
            }
            run(to, server, line.key(), List.of(sql.get(0)));
            Sql.update(
                    to,
                    "INSERT INTO %s (filename, id, author, md5sum, sql) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
                            .formatted(DeployedSql.TABLE),
                    line.path(),
                    line.id(),
                    line.author(),
                    String.valueOf(line.checksum()),
                    to.createArrayOf("text", sql.get(0)));
            Sql.update(
                    to,
                    "DELETE FROM %s WHERE filename = ? AND id = ? AND author = ?".formatted(ShardHistory.TABLE),
                    line.file(),
                    line.id(),
                    line.author());
            Sql.update(
                    to,
                    "INSERT INTO %s (id, author, filename, dateexecuted, orderexecuted, exectype, md5sum, description, comments, deployment_id) VALUES (?, ?, ?, localtimestamp, ?, 'EXECUTED', ?, ?, '', ?)"
                            .formatted(ShardHistory.TABLE),
                    line.id(),
                    line.author(),
                    line.file(),
                    ++order,
                    String.valueOf(line.checksum()),
                    line.description(),
                    line.deployment());
        }
        Sql.execute(to, SearchPath.OURS);
    }

    @Override
    public void close() {
        changelog.close();
    }
}
