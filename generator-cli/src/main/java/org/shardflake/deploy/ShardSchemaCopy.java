/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;

/**
 * Brings the schema of shards to another server, without rows: deploys there what the shards' history says they have had, and
 * compares the results.
 */
public final class ShardSchemaCopy {

    private static final Pattern CONCURRENTLY =
            Pattern.compile("^(\\s*CREATE\\s+(?:UNIQUE\\s+)?INDEX)\\s+CONCURRENTLY\\b", Pattern.CASE_INSENSITIVE);

    private static final String HISTORY = """
            SELECT h.id || ' of ' || substr(h.filename, 12), h.exectype = 'MARK_RAN', c.sql
              FROM %s h
              LEFT JOIN %s c ON (c.filename, c.id, c.author, c.md5sum) = (substr(h.filename, 12), h.id, h.author, h.md5sum)
             WHERE starts_with(h.filename, ?)
             ORDER BY h.orderexecuted, h.dateexecuted
            """.formatted(ShardHistory.TABLE, DeployedSql.TABLE);

    private static final String COLUMNS =
            "id, author, filename, dateexecuted, orderexecuted, exectype, md5sum, description, comments, tag, liquibase, contexts, labels, deployment_id";

    private final Connection source;
    private final Connection target;

    /** Both connections are in auto-commit mode, and stay the caller's. */
    public ShardSchemaCopy(Connection source, Connection target) {
        this.source = source;
        this.target = target;
    }

    /**
     * Creates shards on the target, fenced; those that are there are fenced and otherwise left alone.
     *
     * @throws DeployException if the source does not know how a shard was made, or the target refuses
     */
    public void create(ShardSet shards) throws SQLException {
        if (!exists(source, ShardHistory.TABLE) || !exists(source, DeployedSql.TABLE)) {
            throw unknown(shards.stream().findFirst().orElseThrow());
        }
        ShardHistory.create(target);
        copyRecordedSql();
        List<NewShard> missing = new ArrayList<>();
        Map<List<String>, List<String>> kept = new HashMap<>(); // nearly always one for all shards
        for (int shard : shards.stream().toArray()) {
            if (hasSchema(target, shard)) {
                execute("SELECT shardflake.fence_shard(%d)".formatted(shard));
            } else {
                missing.add(new NewShard(shard, kept.computeIfAbsent(deployedSql(shard), same -> same)));
            }
        }
        for (List<NewShard> some : CreationBatches.of(missing, NewShard::sql, 1)) {
            create(some);
        }
    }

    /**
     * A shard that is to be created.
     *
     * @param sql of its history, with the template for the name of its schema
     */
    private record NewShard(int number, List<String> sql) {}

    private void create(List<NewShard> shards) throws SQLException {
        List<String> statements = new ArrayList<>();
        // All schemas before any table, as CreationBatches has it.
        shards.forEach(shard -> statements.add("SELECT shardflake.create_shard(%d)".formatted(shard.number())));
        statements.add("SET LOCAL synchronous_commit = off");
        for (NewShard shard : shards) {
            String schema = Sharding.schema(shard.number());
            statements.add("SET LOCAL search_path = %s, public".formatted(schema));
            shard.sql().forEach(sql -> statements.add(ShardChangeSet.forShard(sql, schema)));
            statements.add("SELECT shardflake.complete_tables(%d)".formatted(shard.number()));
            statements.add("SELECT shardflake.fence_shard(%d)".formatted(shard.number()));
        }
        target.setAutoCommit(false);
        try {
            execute(String.join(";\n", statements));
            for (NewShard shard : shards) {
                copyHistory(shard.number());
            }
            target.commit();
        } catch (SQLException e) {
            target.rollback();
            if (shards.size() == 1) {
                throw new DeployException(
                        "cannot deploy to shard %d on the target what it has had on the source: %s"
                                .formatted(shards.get(0).number(), e.getMessage()),
                        e);
            }
            for (NewShard shard : shards) { // which finds out whose failure it was
                create(List.of(shard));
            }
        } finally {
            target.setAutoCommit(true);
        }
    }

    private List<String> deployedSql(int shard) throws SQLException {
        List<String> statements = new ArrayList<>();
        try (PreparedStatement history = source.prepareStatement(HISTORY)) {
            history.setString(1, Sharding.schema(shard) + "/");
            try (ResultSet row = history.executeQuery()) {
                while (row.next()) {
                    Array sql = row.getArray(3);
                    if (row.getBoolean(2)) {
                        continue;
                    }
                    if (sql == null) {
                        throw new DeployRefusedException(
                                "the source does not remember the SQL of changeset %s; run schema deploy with your changelog once more"
                                        .formatted(row.getString(1)));
                    }
                    for (String statement : (String[]) sql.getArray()) {
                        // Nobody else uses the tables yet.
                        statements.add(CONCURRENTLY.matcher(statement).replaceFirst("$1"));
                    }
                }
            }
        }
        if (statements.isEmpty()) {
            throw unknown(shard);
        }
        return statements;
    }

    private static DeployRefusedException unknown(int shard) {
        return new DeployRefusedException(
                "the source has no history of how shard %d was deployed; deploy with shardflake schema deploy, or create its schema on the target yourself before the move"
                        .formatted(shard));
    }

    private void copyHistory(int shard) throws SQLException {
        copyRows(
                "SELECT %s FROM %s WHERE starts_with(filename, '%s/')"
                        .formatted(COLUMNS, ShardHistory.TABLE, Sharding.schema(shard)),
                "INSERT INTO %s (%s)".formatted(ShardHistory.TABLE, COLUMNS),
                "");
    }

    private void copyRecordedSql() throws SQLException {
        copyRows(
                "SELECT filename, id, author, md5sum, sql FROM " + DeployedSql.TABLE,
                "INSERT INTO %s (filename, id, author, md5sum, sql)".formatted(DeployedSql.TABLE),
                " ON CONFLICT DO NOTHING");
    }

    private void copyRows(String select, String insert, String suffix) throws SQLException {
        try (Statement statement = source.createStatement();
                ResultSet row = statement.executeQuery(select)) {
            int columns = row.getMetaData().getColumnCount();
            String values = "?, ".repeat(columns - 1) + "?";
            try (PreparedStatement write =
                    target.prepareStatement("%s VALUES (%s)%s".formatted(insert, values, suffix))) {
                while (row.next()) {
                    for (int i = 1; i <= columns; i++) {
                        write.setObject(i, row.getObject(i));
                    }
                    write.addBatch();
                }
                write.executeBatch();
            }
        }
    }

    /** SQL that makes a server forget the history of a shard, with which the caller drops its schema. */
    public static String forgetSql(int shard) {
        return "DELETE FROM %s WHERE starts_with(filename, '%s/')"
                .formatted(ShardHistory.TABLE, Sharding.schema(shard));
    }

    /** Whether a server has a history that {@link #forgetSql} could take a shard from. */
    public static boolean hasHistory(Connection connection) throws SQLException {
        return exists(connection, ShardHistory.TABLE);
    }

    /** What differs between the two servers, a list for each shard that differs. */
    public Map<Integer, List<String>> differences(ShardSet shards) throws SQLException {
        Map<Integer, String> there = ShardDescription.fingerprints(source, shards);
        Map<Integer, String> here = ShardDescription.fingerprints(target, shards);
        Map<Integer, List<String>> differences = new TreeMap<>();
        for (int shard : shards.stream().toArray()) {
            if (!String.valueOf(there.get(shard)).equals(here.get(shard))) {
                differences.put(
                        shard,
                        DriftSearch.differences(
                                ShardDescription.describe(source, shard),
                                ShardDescription.describe(target, shard),
                                "on the source"));
            }
        }
        return differences;
    }

    private void execute(String sql) throws SQLException {
        try (Statement statement = target.createStatement()) {
            statement.setEscapeProcessing(false);
            statement.execute(sql);
        }
    }

    private static boolean exists(Connection connection, String table) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("SELECT to_regclass(?) IS NOT NULL")) {
            statement.setString(1, table);
            return isTrue(statement);
        }
    }

    private static boolean hasSchema(Connection connection, int shard) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("SELECT to_regnamespace(?) IS NOT NULL")) {
            statement.setString(1, Sharding.schema(shard));
            return isTrue(statement);
        }
    }

    private static boolean isTrue(PreparedStatement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery()) {
            row.next();
            return row.getBoolean(1);
        }
    }
}
