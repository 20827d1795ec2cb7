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
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.grants.AsOwner;
import org.shardflake.jdbc.Sql;

/** Recreates the schemas of shards on another server, without rows: deploys the changesets in the shards' history, and compares the results. */
public final class ShardSchemaCopy {

    private static final String HISTORY = """
            SELECT h.id || ' of ' || h.path, h.exectype = 'MARK_RAN', c.sql, h.path, h.deployment_id, h.earlier
              FROM ((SELECT DISTINCT ON (filename, id, author) *, substr(filename, 12) AS path, false AS earlier FROM %1$s WHERE starts_with(filename, ?)
                     ORDER BY filename, id, author, dateexecuted DESC, orderexecuted DESC)
                     UNION ALL
                    SELECT *, substr(filename, 13), true FROM %1$s WHERE starts_with(filename, '%3$s' || ?)) h
              LEFT JOIN %2$s c ON (c.filename, c.id, c.author, c.md5sum) = (h.path, h.id, h.author, h.md5sum)
             ORDER BY h.orderexecuted, h.dateexecuted
            """.formatted(ShardHistory.TABLE, DeployedSql.TABLE, ShardHistory.EARLIER);

    /** Runs deferred checks immediately: otherwise they would wait for the end of the transaction, and block the next changeset. */
    private static final String COMMITTED = "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED";

    /** The first version in which a new type's added values can be used in its own transaction. */
    private static final int ENUMS_IN_ONE_TRANSACTION = 17;

    private static final String GIVE =
            "ALTER SCHEMA %1$s OWNER TO %2$s; ALTER SEQUENCE %1$s.id_seq OWNER TO %2$s; ALTER FUNCTION %1$s.next_id() OWNER TO %2$s; ALTER FUNCTION %1$s.next_id(regclass) OWNER TO %2$s";

    private static final String COLUMNS =
            "id, author, filename, dateexecuted, orderexecuted, exectype, md5sum, description, comments, tag, liquibase, contexts, labels, deployment_id";

    private static final String UNCARRIED =
            ShardDescription.sql("things.sql") + ",\n" + ShardDescription.sql("uncarried.sql");
    private static final String ROLES = ShardDescription.sql("things.sql") + "\n" + ShardDescription.sql("roles.sql");

    /** SQL that creates missing checks; the changelog itself may have created a constraint of that name. */
    private static final String CHECKS = """
            SELECT format('DO %L', format('BEGIN IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = %L::regclass AND conname = %L) THEN ALTER TABLE %s ADD CONSTRAINT %I %s; END IF; END',
                          format('%I.%I', n.nspname, c.relname), k.conname, format('%I.%I', n.nspname, c.relname), k.conname, pg_get_constraintdef(k.oid)))
              FROM pg_namespace n
              JOIN pg_constraint k ON k.connamespace = n.oid AND k.contype = 'c' AND k.conislocal AND k.conname LIKE '%\\_of\\_shard'
              JOIN pg_class c ON c.oid = k.conrelid
             WHERE n.nspname = ?
             ORDER BY c.relname, k.conname
            """;

    private static final String OWN_CHECKS = """
            SELECT format('%I.%I DROP CONSTRAINT %I', n.nspname, c.relname, k.conname)
              FROM pg_namespace n
              JOIN pg_constraint k ON k.connamespace = n.oid AND k.contype = 'c' AND k.conislocal AND k.conname LIKE '%\\_of\\_shard'
              JOIN pg_class c ON c.oid = k.conrelid
             WHERE n.nspname = ?
            """;

    /** The roles other than superusers that could have written the recorded SQL, owners first. */
    private static final String WRITERS = """
            SELECT role, quote_ident(role) FROM (
                SELECT r.rolname::text AS role, 1 AS turn FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles r ON r.oid IN (c.relowner, n.nspowner)
                 WHERE n.nspname = '%1$s' AND c.relname = ANY ('{changeset,databasechangelog}') AND NOT r.rolsuper
                 UNION ALL
                SELECT COALESCE(r.rolname::text, ''), 2 FROM pg_class c CROSS JOIN aclexplode(c.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
                 WHERE c.relnamespace = '%1$s'::regnamespace AND c.relname = ANY ('{changeset,databasechangelog}')
                   AND a.privilege_type IN ('INSERT', 'UPDATE') AND r.rolsuper IS NOT TRUE) w
             GROUP BY role ORDER BY min(turn), role
            """.formatted(ShardHistory.SCHEMA);

    private static final String IS_SUPERUSER = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user";

    private final Connection source;
    private final Connection target;
    private Optional<String> writer = Optional.empty();
    private boolean isWriterKnown;

    /** Copies between two connections in auto-commit mode, which the caller closes. */
    public ShardSchemaCopy(Connection source, Connection target) {
        this.source = source;
        this.target = target;
    }

    /**
     * Creates shards on the target, fenced; existing ones are fenced and otherwise left alone.
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
        Map<List<String>, List<String>> kept = new HashMap<>(); // nearly always the same for all shards
        for (int shard : shards.stream().toArray()) {
            if (hasSchema(target, shard)) {
                execute("SELECT shardflake.fence_shard(%s)".formatted(shard));
            } else {
                missing.add(new NewShard(shard, kept.computeIfAbsent(deployedSql(shard), same -> same)));
            }
        }
        for (List<NewShard> some : CreationBatches.of(missing, NewShard::sql, 1)) {
            create(some);
        }
        for (int shard : unlike(shards)) {
            Sql.inTransaction(target, () -> carried(shard));
        }
    }

    /**
     * The differences that the target would show if shards were created there now, a list for each affected shard; if creation fails, the
     * reason. Creates shards on the target and rolls that back; of equal shards, only one. The target has the source's function library.
     */
    public Map<Integer, List<String>> rehearse(ShardSet shards) throws SQLException {
        Map<Integer, List<String>> differences = new TreeMap<>();
        if (!exists(source, ShardHistory.TABLE) || !exists(source, DeployedSql.TABLE)) {
            int first = shards.stream().findFirst().orElseThrow();
            return Map.of(first, List.of(String.valueOf(unknown(first).getMessage())));
        }
        Map<Integer, String> fingerprints = ShardDescription.fingerprints(source, shards, false);
        Set<List<String>> done = new HashSet<>();
        for (int shard : shards.stream().toArray()) {
            try {
                List<String> sql = deployedSql(shard);
                List<String> kind = new ArrayList<>(sql);
                kind.add(String.valueOf(fingerprints.get(shard)));
                if (done.add(kind)) {
                    List<String> found = rehearse(new NewShard(shard, sql));
                    if (!found.isEmpty()) {
                        differences.put(shard, found);
                    }
                }
            } catch (DeployException e) {
                differences.put(shard, List.of(String.valueOf(e.getMessage())));
            }
        }
        return differences;
    }

    private List<String> rehearse(NewShard shard) throws SQLException {
        try (Sql.Ending ending = Sql.rollingBack(target)) {
            execute("SET LOCAL lock_timeout = '5s'");
            executeAll(creation(List.of(shard)));
            dropOtherChecks(shard);
            return carried(shard.number());
        } catch (SQLException e) {
            if (Sql.isOutage(e)) {
                throw e;
            }
            return List.of("cannot be created there: " + Sql.message(e));
        }
    }

    /** Carries the properties, unless the shard itself differs, and returns the differences. */
    private List<String> carried(int shard) throws SQLException {
        List<String> differences = differences(shard);
        if (differences.isEmpty() || !differences.stream().allMatch(CarriedProperties::has)) {
            return differences;
        }
        new CarriedProperties(source, target).carry(shard);
        return differences(shard);
    }

    /**
     * A shard to be created.
     *
     * @param sql the SQL of its history, with the template for the name of its schema
     */
    private record NewShard(int number, List<String> sql) {

        boolean changesChecks() {
            return sql.stream().anyMatch(SqlEffects::changesChecks);
        }
    }

    private List<String> creation(List<NewShard> shards) throws SQLException {
        List<String> statements = new ArrayList<>();
        Optional<String> owner = writer();
        // All schemas before any table, see CreationBatches.
        for (NewShard shard : shards) {
            statements.add("SELECT shardflake.create_shard(%s)".formatted(shard.number()));
            // Before it has tables, which a change stream does not get therefore. A schema that was not dropped by
            // drop_shard has
            // left its line.
            statements.add("SELECT shardflake.record_placement(%s, 0, false)".formatted(shard.number()));
        }
        statements.add("SET LOCAL synchronous_commit = off");
        statements.add(ShardRun.CREATING);
        statements.add("SET LOCAL shardflake.copying = on"); // What the source has is not refused here.
        statements.addAll(uidColumn());
        for (NewShard shard : shards) {
            // The source says which checks there are; its history may ask for others, by add_id_sequence. If it takes
            // some away, they have
            // to be there.
            statements.add("SET LOCAL shardflake.checks = " + (shard.changesChecks() ? "on" : "off"));
            String schema = Sharding.schema(shard.number());
            List<String> its = new ArrayList<>();
            shard.sql().forEach(sql -> its.add(ShardChangeSet.forShard(sql, schema)));
            its.add(SearchPath.OURS);
            its.add("SELECT shardflake.complete_tables(%s)".formatted(shard.number()));
            its.addAll(checks(shard.number()));
            if (owner.isPresent()) {
                statements.add(GIVE.formatted(schema, owner.get()));
                its.removeIf(COMMITTED::equals);
                its.add(0, "SET CONSTRAINTS ALL IMMEDIATE"); // What is deferred would run as this superuser.
                statements.add(AsOwner.sql(target, owner.get(), its));
            } else {
                statements.addAll(its);
            }
            statements.add("SELECT shardflake.fence_shard(%s)".formatted(shard.number()));
        }
        return statements;
    }

    private void create(List<NewShard> shards) throws SQLException {
        try {
            Sql.inTransaction(target, () -> {
                executeAll(creation(shards));
                for (NewShard shard : shards) {
                    dropOtherChecks(shard);
                    // A schema that was not dropped by drop_shard has left its lines.
                    forget(target, shard.number());
                    copyHistory(shard.number());
                }
                return true;
            });
        } catch (SQLException e) {
            if (Sql.isOutage(e)) {
                throw e;
            }
            if (shards.size() == 1) {
                throw new DeployException(
                        "cannot deploy to shard %s on the target what it has had on the source: %s"
                                .formatted(shards.get(0).number(), e.getMessage()),
                        e);
            }
            for (NewShard shard : shards) { // finds the shard that failed
                create(List.of(shard));
            }
        }
    }

    private List<String> deployedSql(int shard) throws SQLException {
        List<String> statements = new ArrayList<>();
        boolean isKnown = false;
        boolean isWritten = false;
        String deployment = "";
        Set<String> kept = new LinkedHashSet<>(); // settings that hold until the end of a deployment
        try (PreparedStatement history = source.prepareStatement(HISTORY)) {
            history.setString(1, Sharding.schema(shard) + "/");
            history.setString(2, Sharding.schema(shard) + "/");
            try (ResultSet row = history.executeQuery()) {
                while (row.next()) {
                    Array sql = row.getArray(3);
                    if (row.getBoolean(2) || (sql == null && row.getBoolean(6))) {
                        continue;
                    }
                    if (sql == null) {
                        throw new DeployRefusedException(
                                "the source does not remember the SQL of changeset %s".formatted(row.getString(1)),
                                Advice.of("run %s with your changelog again", CliCommand.SCHEMA_DEPLOY));
                    }
                    List<String> its = List.of((String[]) sql.getArray());
                    if (isWritten) {
                        statements.add(COMMITTED);
                    }
                    if (!deployment.equals(String.valueOf(row.getString(5)))) {
                        deployment = String.valueOf(row.getString(5));
                        statements.addAll(ChangedSettings.restore(kept, false));
                        kept.clear();
                    }
                    if (isKnown) {
                        ShardChangeSet.completion(its, "all").ifPresent(statements::add);
                    }
                    isWritten = !its.stream().allMatch(SqlEffects::isPlain);
                    statements.add(SearchPath.of(ShardChangeSet.TEMPLATE_SCHEMA, row.getString(4)));
                    ChangedSettings changed = ChangedSettings.of(its);
                    Set<String> session = new LinkedHashSet<>(changed.session());
                    session.removeAll(kept);
                    kept.addAll(session);
                    statements.addAll(ChangedSettings.keep(session));
                    statements.addAll(ChangedSettings.keep(changed.local()));
                    for (String statement : its) {
                        SqlEffects.inTransaction(statement).ifPresent(statements::add);
                    }
                    statements.addAll(ChangedSettings.restore(changed.local(), true));
                    isKnown = true;
                }
            }
        }
        if (!isKnown) {
            throw unknown(shard);
        }
        statements.addAll(ChangedSettings.restore(kept, false));
        return target.getMetaData().getDatabaseMajorVersion() < ENUMS_IN_ONE_TRANSACTION
                ? EnumValues.fromTheStart(statements)
                : statements;
    }

    /** Drops the checks that the source's shard does not have. */
    private void dropOtherChecks(NewShard shard) throws SQLException {
        if (!shard.changesChecks()) {
            return;
        }
        String schema = Sharding.schema(shard.number());
        List<String> others = new ArrayList<>(Sql.list(target, OWN_CHECKS, row -> row.getString(1), schema));
        others.removeAll(Sql.list(source, OWN_CHECKS, row -> row.getString(1), schema));
        for (String check : others) {
            execute("ALTER TABLE " + check);
        }
    }

    private static DeployRefusedException unknown(int shard) {
        return new DeployRefusedException(
                "the source has no history of how shard %s was deployed".formatted(shard),
                Advice.of(
                        "deploy with %s, or create its schema on the target yourself before the move",
                        CliCommand.SCHEMA_DEPLOY));
    }

    /**
     * The role as which a superuser runs SQL recorded on the source, quoted for SQL: the one that could have recorded it. None if that was a
     * superuser, or the session has no more rights than others.
     *
     * @throws DeployRefusedException if everybody could have
     */
    private Optional<String> writer() throws SQLException {
        if (!isWriterKnown) {
            writer = Sql.isTrue(target, IS_SUPERUSER) ? writerOfSource() : Optional.empty();
            isWriterKnown = true;
        }
        return writer;
    }

    private Optional<String> writerOfSource() throws SQLException {
        List<List<String>> writers = Sql.list(source, WRITERS, row -> List.of(row.getString(1), row.getString(2)));
        if (writers.isEmpty()) {
            return Optional.empty();
        }
        String role = writers.get(0).get(0);
        if (role.isEmpty()) {
            throw new DeployRefusedException(
                    "everybody may write to schema %s of the source, and this superuser would run it on the target; REVOKE INSERT, UPDATE ON ALL TABLES IN SCHEMA %1$s FROM PUBLIC"
                            .formatted(ShardHistory.SCHEMA));
        }
        if (!Sql.isTrue(target, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = ?)", role)) {
            throw new DeployRefusedException(
                    "the target has no role %s, with whose rights this superuser runs the changesets of the source; create it there"
                            .formatted(writers.get(0).get(1)));
        }
        return Optional.of(writers.get(0).get(1));
    }

    private void copyHistory(int shard) throws SQLException {
        copyRows(
                "SELECT DISTINCT ON (filename, id, author, CASE WHEN starts_with(filename, '%3$s') THEN md5sum END) %1$s FROM %2$s WHERE starts_with(filename, '%4$s/') OR starts_with(filename, '%3$s%4$s/') ORDER BY filename, id, author, CASE WHEN starts_with(filename, '%3$s') THEN md5sum END, dateexecuted DESC, orderexecuted DESC"
                        .formatted(COLUMNS, ShardHistory.TABLE, ShardHistory.EARLIER, Sharding.schema(shard)),
                ShardHistory.TABLE,
                COLUMNS,
                "");
    }

    /** SQL that adds the source's row checks to the target's tables, as the changelog does not contain them. */
    private List<String> checks(int shard) throws SQLException {
        List<String> statements = new ArrayList<>();
        try (PreparedStatement checks = source.prepareStatement(CHECKS)) {
            checks.setString(1, Sharding.schema(shard));
            try (ResultSet row = checks.executeQuery()) {
                while (row.next()) {
                    statements.add(row.getString(1));
                }
            }
        }
        return statements;
    }

    /** The statements that copy the names by which complete_tables distinguishes uid columns from id columns. */
    private List<String> uidColumn() throws SQLException {
        return exists(source, "shardflake.uid_column")
                ? Sql.list(
                        source,
                        "SELECT format('DO %L', format('BEGIN IF to_regclass(''shardflake.uid_column'') IS NOT NULL THEN INSERT INTO shardflake.uid_column (column_name, shard_count) VALUES (%L, %s) ON CONFLICT DO NOTHING; END IF; END', column_name, shard_count)) FROM shardflake.uid_column",
                        row -> row.getString(1))
                : List.of();
    }

    private void copyRecordedSql() throws SQLException {
        String columns = "filename, id, author, md5sum, sql";
        copyRows(
                "SELECT %s FROM %s".formatted(columns, DeployedSql.TABLE),
                DeployedSql.TABLE,
                columns,
                " ON CONFLICT DO NOTHING");
    }

    private void copyRows(String select, String table, String columns, String suffix) throws SQLException {
        String rows = Sql.text(source, "SELECT COALESCE(json_agg(r), '[]')::text FROM (%s) r".formatted(select));
        ShardHistory.write(
                target,
                "INSERT INTO %1$s (%2$s) SELECT %2$s FROM json_populate_recordset(NULL::%1$s, %3$s)%4$s"
                        .formatted(table, columns, Sql.quote(rows), suffix));
    }

    /** SQL that makes a server forget the history of a shard. */
    static String forgetSql(int shard) {
        return "DELETE FROM %1$s WHERE starts_with(filename, '%2$s/') OR starts_with(filename, '%3$s%2$s/')"
                .formatted(ShardHistory.TABLE, Sharding.schema(shard), ShardHistory.EARLIER);
    }

    /** Makes a server forget the history of a shard, if it has one; the caller drops the shard's schema. */
    public static void forget(Connection connection, int shard) throws SQLException {
        if (exists(connection, ShardHistory.TABLE)) {
            ShardHistory.write(connection, forgetSql(shard));
        }
    }

    /** Objects in the source's shards that a move can neither compare nor carry. */
    public List<String> uncarried(ShardSet shards) throws SQLException {
        return ShardDescription.query(source, UNCARRIED, shards, row -> row.getString(1));
    }

    /** The roles that own or may use something in the shards and are missing on the target. */
    public List<String> missingRoles(ShardSet shards) throws SQLException {
        List<String> roles = new ArrayList<>(ShardDescription.query(source, ROLES, shards, row -> row.getString(1)));
        roles.removeAll(Sql.list(target, "SELECT oid::regrole::text FROM pg_roles", row -> row.getString(1)));
        return roles;
    }

    /** The differences between the two servers, a list for each differing shard. */
    public Map<Integer, List<String>> differences(ShardSet shards) throws SQLException {
        Map<Integer, List<String>> differences = new TreeMap<>();
        for (int shard : unlike(shards)) {
            differences.put(shard, differences(shard));
        }
        return differences;
    }

    private List<Integer> unlike(ShardSet shards) throws SQLException {
        boolean acrossVersions = isAcrossVersions();
        Map<Integer, String> there = ShardDescription.fingerprints(source, shards, acrossVersions);
        Map<Integer, String> here = ShardDescription.fingerprints(target, shards, acrossVersions);
        return shards.stream()
                .boxed()
                .filter(shard -> !String.valueOf(there.get(shard)).equals(here.get(shard)))
                .toList();
    }

    /** The differences of one shard, with those of the objects themselves first. */
    private List<String> differences(int shard) throws SQLException {
        boolean acrossVersions = isAcrossVersions();
        return DriftSearch.differences(
                        ShardDescription.describe(source, shard, acrossVersions),
                        ShardDescription.describe(target, shard, acrossVersions),
                        "on the source")
                .stream()
                .sorted(Comparator.comparing(CarriedProperties::has))
                .toList();
    }

    private boolean isAcrossVersions() throws SQLException {
        return source.getMetaData().getDatabaseMajorVersion()
                != target.getMetaData().getDatabaseMajorVersion();
    }

    /** Executes statements, in few messages. */
    private void executeAll(List<String> statements) throws SQLException {
        StringBuilder message = new StringBuilder();
        for (String statement : statements) {
            message.append(statement).append("\n;\n"); // the last line may be a comment
            if (SqlEffects.endsMessage(statement)) {
                execute(message.toString());
                message.setLength(0);
            }
        }
        execute(message.toString());
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
