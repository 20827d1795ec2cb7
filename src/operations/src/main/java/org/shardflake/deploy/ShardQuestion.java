/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import liquibase.changelog.ChangeSet;
import liquibase.changelog.DatabaseChangeLog;
import liquibase.database.core.PostgresDatabase;
import liquibase.exception.PreconditionErrorException;
import liquibase.exception.PreconditionFailedException;
import liquibase.precondition.Precondition;
import liquibase.precondition.PreconditionLogic;
import liquibase.precondition.core.AndPrecondition;
import liquibase.precondition.core.ChangeLogPropertyDefinedPrecondition;
import liquibase.precondition.core.ChangeSetExecutedPrecondition;
import liquibase.precondition.core.ColumnExistsPrecondition;
import liquibase.precondition.core.DBMSPrecondition;
import liquibase.precondition.core.ForeignKeyExistsPrecondition;
import liquibase.precondition.core.IndexExistsPrecondition;
import liquibase.precondition.core.NotPrecondition;
import liquibase.precondition.core.ObjectQuotingStrategyPrecondition;
import liquibase.precondition.core.OrPrecondition;
import liquibase.precondition.core.PreconditionContainer;
import liquibase.precondition.core.PreconditionContainer.ErrorOption;
import liquibase.precondition.core.PreconditionContainer.FailOption;
import liquibase.precondition.core.PrimaryKeyExistsPrecondition;
import liquibase.precondition.core.RowCountPrecondition;
import liquibase.precondition.core.SequenceExistsPrecondition;
import liquibase.precondition.core.SqlPrecondition;
import liquibase.precondition.core.TableExistsPrecondition;
import liquibase.precondition.core.TableIsEmptyPrecondition;
import liquibase.precondition.core.ViewExistsPrecondition;
import liquibase.structure.DatabaseObject;
import liquibase.structure.core.Index;
import liquibase.structure.core.Table;
import liquibase.structure.core.View;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;
import org.shardflake.Sharding;
import org.shardflake.jdbc.Sql;

/** The check of one changeset's or changelog's preconditions on one shard. */
final class ShardQuestion {

    /** Liquibase, for preconditions that no query here covers. */
    @FunctionalInterface
    interface Liquibase {
        Optional<String> failure(
                Connection connection, int shard, Precondition precondition, @Nullable ChangeSet changeSet)
                throws PreconditionErrorException;
    }

    private final Preconditions.Session session;
    private final int shard;
    private final DatabaseChangeLog changelog;
    private final @Nullable ChangeSet changeSet;
    private final Liquibase liquibase;
    private final PostgresDatabase names = new PostgresDatabase();

    ShardQuestion(
            Preconditions.Session session,
            int shard,
            DatabaseChangeLog changelog,
            @Nullable ChangeSet changeSet,
            Liquibase liquibase) {
        this.session = session;
        this.shard = shard;
        this.changelog = changelog;
        this.changeSet = changeSet;
        this.liquibase = liquibase;
        if (changeSet != null) {
            names.setObjectQuotingStrategy(changeSet.getObjectQuotingStrategy());
        }
    }

    /**
     * The reason why preconditions do not hold, if they don't.
     *
     * @throws PreconditionErrorException if that cannot be found out
     */
    Optional<String> failure(Precondition precondition) throws PreconditionErrorException, SQLException {
        if (precondition instanceof PreconditionContainer container) {
            return contained(container);
        }
        if (precondition instanceof AndPrecondition all) {
            return first(all);
        }
        if (precondition instanceof OrPrecondition any) {
            List<String> failures = new ArrayList<>();
            for (Precondition one : any.getNestedPreconditions()) {
                Optional<String> failure = failure(one);
                if (failure.isEmpty()) {
                    return failure;
                }
                failures.add(failure.get());
            }
            return Optional.of(String.join("; ", failures));
        }
        if (precondition instanceof NotPrecondition none) {
            for (Precondition one : none.getNestedPreconditions()) {
                if (failure(one).isEmpty()) {
                    return Optional.of("Not precondition failed: " + one.getName());
                }
            }
            return Optional.empty();
        }
        return ofOne(precondition);
    }

    /** The result for an included changelog, which decides by its own rules what a failure means. */
    private Optional<String> contained(PreconditionContainer container)
            throws PreconditionErrorException, SQLException {
        try {
            Optional<String> failure = first(container);
            if (failure.isPresent() && container.getOnFail() == FailOption.WARN) {
                return Optional.empty();
            }
            return failure.map(why -> container.getOnFailMessage() == null ? why : container.getOnFailMessage());
        } catch (PreconditionErrorException e) {
            if (container.getOnError() == ErrorOption.WARN) {
                return Optional.empty();
            }
            throw e;
        }
    }

    private Optional<String> first(PreconditionLogic all) throws PreconditionErrorException, SQLException {
        for (Precondition one : all.getNestedPreconditions()) {
            Optional<String> failure = failure(one);
            if (failure.isPresent()) {
                return failure;
            }
        }
        return Optional.empty();
    }

    private Optional<String> ofOne(Precondition precondition) throws PreconditionErrorException, SQLException {
        if (precondition instanceof DBMSPrecondition
                || precondition instanceof ChangeLogPropertyDefinedPrecondition
                || precondition instanceof ObjectQuotingStrategyPrecondition) {
            return withoutServer(precondition);
        }
        if (precondition instanceof TableExistsPrecondition its && isHere(its.getSchemaName())) {
            return there(
                    "Table %s does not exist".formatted(its.getTableName()),
                    relation("relname = %s AND relkind IN ('r', 'p')"
                            .formatted(corrected(its.getTableName(), Table.class))));
        }
        if (precondition instanceof ViewExistsPrecondition its && isHere(its.getSchemaName())) {
            return there(
                    "View %s does not exist".formatted(its.getViewName()),
                    relation("relname = %s AND relkind = 'v'".formatted(corrected(its.getViewName(), View.class))));
        }
        if (precondition instanceof SequenceExistsPrecondition its && isHere(its.getSchemaName())) {
            return there(
                    "Sequence %s does not exist".formatted(its.getSequenceName()),
                    relation("relname ILIKE %s AND relkind = 'S'".formatted(quote(its.getSequenceName()))));
        }
        if (precondition instanceof ColumnExistsPrecondition its
                && isHere(its.getSchemaName())
                && its.getCatalogName() == null
                && its.getTableName() != null
                && String.valueOf(its.getColumnName()).matches("(?i)[a-z][a-z_0-9]*")) {
            return there(
                    "Column %s.%s does not exist".formatted(its.getTableName(), its.getColumnName()),
                    relation(
                            "lower(relname) = lower(%s) AND EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE attrelid = c.oid AND lower(attname) = lower(%s))"
                                    .formatted(quote(its.getTableName()), quote(its.getColumnName()))));
        }
        if (precondition instanceof IndexExistsPrecondition its
                && isHere(its.getSchemaName())
                && its.getIndexName() != null
                && its.getColumnNames() == null) {
            String ofTable = its.getTableName() == null
                    ? ""
                    : " AND EXISTS (SELECT FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class t ON t.oid = i.indrelid WHERE i.indexrelid = c.oid AND t.relname = %s)"
                            .formatted(corrected(its.getTableName(), Table.class));
            return there(
                    "Index %s does not exist".formatted(its.getIndexName()),
                    relation("relname = %s AND relkind IN ('i', 'I')"
                                    .formatted(corrected(its.getIndexName(), Index.class))
                            + ofTable));
        }
        if (precondition instanceof PrimaryKeyExistsPrecondition its && isHere(its.getSchemaName())) {
            return there(
                    "Primary Key %s does not exist on %s".formatted(its.getPrimaryKeyName(), its.getTableName()),
                    constraint("p", its.getPrimaryKeyName(), its.getTableName()));
        }
        if (precondition instanceof ForeignKeyExistsPrecondition its && isHere(its.getSchemaName())) {
            return there(
                    "Foreign Key %s does not exist".formatted(its.getForeignKeyName()),
                    constraint("f", its.getForeignKeyName(), its.getForeignKeyTableName()));
        }
        if (precondition instanceof ChangeSetExecutedPrecondition its) {
            return executed(its);
        }
        if (precondition instanceof SqlPrecondition its) {
            return query(its, its.getSql().replaceFirst(";$", ""), its.getExpectedResult());
        }
        if (precondition instanceof TableIsEmptyPrecondition its && isHere(its.getSchemaName())) {
            String table = names.escapeTableName(null, null, its.getTableName());
            return query(its, "SELECT count(*) FROM (SELECT FROM %s LIMIT 1) t".formatted(table), "0")
                    .map(failure -> "Table %s is not empty.".formatted(its.getTableName()));
        }
        if (precondition instanceof RowCountPrecondition its && isHere(its.getSchemaName())) {
            String table = names.escapeTableName(null, null, its.getTableName());
            return query(its, "SELECT count(*) FROM " + table, String.valueOf(its.getExpectedRows()));
        }
        Optional<String>[] failure = none();
        PreconditionErrorException[] error = new PreconditionErrorException[1];
        boolean isLiquibases = precondition.getClass().getPackage().equals(TableExistsPrecondition.class.getPackage());
        session.tryOut(connection -> {
            if (!isLiquibases) { // The changelog's own code finds tables by the path.
                Sql.execute(connection, SearchPath.of(Sharding.schema(shard)));
            }
            try {
                failure[0] = liquibase.failure(connection, shard, precondition, changeSet);
            } catch (PreconditionErrorException e) {
                error[0] = e;
            }
            return true;
        });
        if (error[0] != null) {
            throw error[0];
        }
        return failure[0];
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Optional<String>[] none() {
        return new Optional[] {Optional.empty()};
    }

    private Optional<String> withoutServer(Precondition precondition) throws PreconditionErrorException {
        try {
            precondition.check(names, changelog, changeSet, null);
            return Optional.empty();
        } catch (PreconditionFailedException e) {
            return Optional.of(e.getFailedPreconditions().get(0).getMessage());
        }
    }

    private boolean isHere(@Nullable String schema) {
        return schema == null || schema.isEmpty() || schema.equals(ShardChangeSet.TEMPLATE_SCHEMA);
    }

    private String corrected(String name, Class<? extends DatabaseObject> type) {
        return quote(names.correctObjectName(name, type));
    }

    private static String quote(String text) {
        return Sql.quote(text);
    }

    private String relation(String condition) {
        return "EXISTS (SELECT FROM pg_catalog.pg_class c WHERE relnamespace = %s::regnamespace AND %s)"
                .formatted(quote(Sharding.schema(shard)), condition);
    }

    private String constraint(String type, @Nullable String name, @Nullable String table) {
        return "EXISTS (SELECT FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid WHERE k.contype = '%s' AND c.relnamespace = %s::regnamespace%s%s)"
                .formatted(
                        type,
                        quote(Sharding.schema(shard)),
                        name == null ? "" : " AND lower(k.conname) = lower(%s)".formatted(quote(name)),
                        table == null ? "" : " AND c.relname = " + corrected(table, Table.class));
    }

    private Optional<String> executed(ChangeSetExecutedPrecondition its) throws SQLException {
        String file = its.getChangeLogFile() == null ? changelog.getLogicalFilePath() : its.getChangeLogFile();
        return there(
                "Changeset '%s::%s::%s' has not been run".formatted(file, its.getId(), its.getAuthor()),
                "EXISTS (SELECT FROM %s WHERE filename = %s AND id = %s AND author = %s AND exectype IN ('EXECUTED', 'RERAN', 'MARK_RAN'))"
                        .formatted(
                                ShardHistory.TABLE,
                                quote(Sharding.schema(shard) + "/" + DatabaseChangeLog.normalizePath(file)),
                                quote(its.getId()),
                                quote(its.getAuthor())));
    }

    private Optional<String> there(String otherwise, String condition) throws SQLException {
        return session.ask(connection -> {
            try (Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("SELECT " + condition)) {
                row.next();
                return row.getBoolean(1) ? Optional.empty() : Optional.of(otherwise);
            }
        });
    }

    /** Runs a query of the changelog, which may fail. It has the changeset's search path until it is undone. */
    private Optional<String> query(Precondition its, String sql, String expected)
            throws PreconditionErrorException, SQLException {
        String text = ShardChangeSet.forShard(sql, Sharding.schema(shard));
        SQLException[] error = new SQLException[1];
        Optional<String> result = session.tryOut(connection -> {
            try (Statement statement = connection.createStatement()) {
                statement.execute(SearchPath.of(Sharding.schema(shard)));
                try (ResultSet row = statement.executeQuery(text)) {
                    return Optional.ofNullable(single(row));
                }
            } catch (PSQLException e) {
                if (e.getServerErrorMessage() == null) {
                    throw e;
                }
                error[0] = e;
                return Optional.empty();
            } catch (SQLException e) {
                error[0] = e;
                return Optional.empty();
            }
        });
        if (error[0] != null) {
            throw new PreconditionErrorException(error[0], changelog, its);
        }
        if (result.isEmpty()) {
            return Optional.of("No rows returned from SQL Precondition");
        }
        return expected.equals(result.get())
                ? Optional.empty()
                : Optional.of("SQL Precondition failed. Expected '%s' got '%s'".formatted(expected, result.get()));
    }

    private static @Nullable String single(ResultSet row) throws SQLException {
        if (row.getMetaData().getColumnCount() != 1) {
            throw new SQLException("expected one column, and there are %s"
                    .formatted(row.getMetaData().getColumnCount()));
        }
        if (!row.next()) {
            throw new SQLException("expected one row, and there is none");
        }
        String result = row.getString(1);
        if (row.next()) {
            throw new SQLException("expected one row, and there are more");
        }
        return result;
    }
}
