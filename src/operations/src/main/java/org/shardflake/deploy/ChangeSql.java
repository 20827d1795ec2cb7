/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeMap;
import liquibase.change.AbstractSQLChange;
import liquibase.change.Change;
import liquibase.change.ColumnConfig;
import liquibase.change.DbmsTargetedChange;
import liquibase.change.core.DropAllForeignKeyConstraintsChange;
import liquibase.change.core.ExecuteShellCommandChange;
import liquibase.change.core.LoadDataChange;
import liquibase.change.core.OutputChange;
import liquibase.change.core.StopChange;
import liquibase.change.custom.CustomChangeWrapper;
import liquibase.changelog.ChangeSet;
import liquibase.database.Database;
import liquibase.database.DatabaseList;
import liquibase.database.PreparedStatementFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.exception.LiquibaseException;
import liquibase.exception.ValidationErrors;
import liquibase.sql.Sql;
import liquibase.sql.visitor.SqlVisitor;
import liquibase.sqlgenerator.SqlGeneratorFactory;
import liquibase.statement.ExecutablePreparedStatement;
import liquibase.statement.ExecutablePreparedStatementBase;
import liquibase.statement.SqlStatement;
import liquibase.statement.core.RawParameterizedSqlStatement;
import liquibase.statement.core.RuntimeStatement;
import org.shardflake.server.internal.sqltext.SqlTokens;

/** The SQL that Liquibase would execute for a changeset, or the reason why shards cannot have it. */
final class ChangeSql {

    /** The text that Liquibase writes for a date that it cannot parse. */
    private static final String DATE_NOT_WRITTEN = "BAD_DATE_FORMAT:";

    private ChangeSql() {}

    /** Whether Liquibase would run a change on this database and machine. */
    static boolean runs(Change change, Database database) {
        return change.shouldRunOnOs()
                && !(change instanceof DbmsTargetedChange targeted
                        && !DatabaseList.definitionMatches(targeted.getDbms(), database, true));
    }

    /** The reason why a change cannot be applied to shards, and what to write instead, if it can't. */
    static Optional<String> refusal(Change change, Database database) throws LiquibaseException {
        String name = change.getSerializedObjectName();
        if (change instanceof ExecuteShellCommandChange) {
            return Optional.of(
                    "has %s, which runs a program where Liquibase is, and not in a shard: leave it out, and run the program yourself"
                            .formatted(name));
        }
        if (change instanceof CustomChangeWrapper custom) {
            return Optional.of(
                    "has %s (class %s), whose SQL would not be known to a shard's next server: write what it does with <sql>"
                            .formatted(name, custom.getClassName()));
        }
        if (change instanceof StopChange stop) {
            return Optional.of("has %s, which ends an update in the middle (%s): take it out, or give it a context"
                    .formatted(name, stop.getMessage()));
        }
        if (change instanceof OutputChange) {
            return Optional.empty();
        }
        change.finishInitialization();
        ValidationErrors errors = change.validate(database);
        if (errors != null && errors.hasErrors()) {
            return Optional.of("is not valid: " + String.join("; ", errors.getErrorMessages()));
        }
        if (change.generateStatementsVolatile(database) && !asksTheTable(change)) {
            return Optional.of(
                    "has %s, which depends on what is in the database, so it cannot be the same for every shard: write it as SQL"
                            .formatted(name));
        }
        return Optional.empty();
    }

    /** Whether generating a change's SQL takes the structure of a table, which is the same in every shard once the table exists. */
    private static boolean asksTheTable(Change change) {
        return change instanceof LoadDataChange || change instanceof DropAllForeignKeyConstraintsChange;
    }

    /** Whether a change can be turned into SQL only after earlier changesets have created their tables. */
    static boolean needsTables(Change change, Database database) {
        if (asksTheTable(change)) {
            return true;
        }
        for (SqlStatement statement : change.generateStatements(database)) {
            if (statement instanceof ExecutablePreparedStatementBase its
                    && its.getColumns().stream()
                            .map(ColumnConfig::getValueBlobFile)
                            .anyMatch(file -> file != null)) {
                return true; // bytea or oid
            }
        }
        return false;
    }

    /** The way in which Liquibase generates a change's statements. */
    @FunctionalInterface
    interface Generation {
        SqlStatement[] of(Database database) throws LiquibaseException;
    }

    /** The SQL of all changes of a changeset. */
    static List<String> of(ChangeSet changeSet, Database database) throws LiquibaseException {
        database.setObjectQuotingStrategy(changeSet.getObjectQuotingStrategy());
        List<String> sql = new ArrayList<>();
        for (Change change : changeSet.getChanges()) {
            if (runs(change, database) && !(change instanceof OutputChange)) {
                change.finishInitialization();
                sql.addAll(of(change, change::generateStatements, database, changeSet.getSqlVisitors()));
            }
        }
        return List.copyOf(sql);
    }

    /**
     * The SQL of a change. When told to strip comments, Liquibase also strips them from function bodies and from anything that looks
     * like one, so that is done here.
     */
    static List<String> of(Change change, Generation generation, Database database, List<SqlVisitor> visitors)
            throws LiquibaseException {
        boolean cutsComments = change instanceof AbstractSQLChange its && Boolean.TRUE.equals(its.isStripComments());
        if (change instanceof AbstractSQLChange its) {
            its.setStripComments(false);
        }
        List<String> sql = new ArrayList<>();
        for (SqlStatement statement : generation.of(database)) {
            if (statement.skipOnUnsupported()
                    && !SqlGeneratorFactory.getInstance().supports(statement, database)) {
                continue;
            }
            for (String one : of(statement, database, visitors)) {
                sql.add(cutsComments ? SqlTokens.withoutComments(one) : one);
            }
        }
        sql.removeIf(one -> SqlTokens.of(one).isEmpty());
        return sql;
    }

    private static List<String> of(SqlStatement statement, Database database, List<SqlVisitor> visitors)
            throws LiquibaseException {
        if (statement instanceof RuntimeStatement) {
            throw new LiquibaseException("statement %s is code, and not SQL"
                    .formatted(statement.getClass().getName()));
        }
        if (statement instanceof ExecutablePreparedStatement prepared) { // applies its visitors itself
            RecordedStatements recorded = new RecordedStatements();
            prepared.execute(new PreparedStatementFactory(new JdbcConnection(recorded.connection())));
            return recorded.sql();
        }
        if (statement instanceof RawParameterizedSqlStatement raw) {
            TreeMap<Integer, String> values = new TreeMap<>();
            for (Object value : raw.getParameters()) {
                values.put(values.size() + 1, RecordedStatements.literal(value));
            }
            try {
                return List.of(RecordedStatements.withValues(modified(raw.getSql(), visitors, database), values));
            } catch (java.sql.SQLException e) {
                throw new LiquibaseException(e);
            }
        }
        List<String> sql = new ArrayList<>();
        for (Sql one : SqlGeneratorFactory.getInstance().generateSql(statement, database)) {
            if (one.toSql().contains(DATE_NOT_WRITTEN)) {
                throw new LiquibaseException(
                        "Liquibase writes no date with the digits of the JVM's default locale %s; start the JVM with -Duser.language=en"
                                .formatted(Locale.getDefault(Locale.Category.FORMAT)));
            }
            sql.add(modified(one.toSql(), visitors, database));
        }
        return sql;
    }

    private static String modified(String sql, List<SqlVisitor> visitors, Database database) {
        String modified = sql;
        for (SqlVisitor visitor : visitors) {
            modified = visitor.modifySql(modified, database);
        }
        return modified;
    }
}
