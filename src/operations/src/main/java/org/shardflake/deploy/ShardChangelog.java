/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import liquibase.ChecksumVersion;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.change.AbstractSQLChange;
import liquibase.change.Change;
import liquibase.change.core.SQLFileChange;
import liquibase.changelog.ChangeLogParameters;
import liquibase.changelog.ChangeSet;
import liquibase.changelog.DatabaseChangeLog;
import liquibase.changelog.filter.ContextChangeSetFilter;
import liquibase.changelog.filter.DbmsChangeSetFilter;
import liquibase.changelog.filter.IgnoreChangeSetFilter;
import liquibase.changelog.filter.LabelChangeSetFilter;
import liquibase.database.Database;
import liquibase.database.OfflineConnection;
import liquibase.database.core.PostgresDatabase;
import liquibase.exception.RollbackImpossibleException;
import liquibase.parser.ChangeLogParserFactory;
import liquibase.resource.ClassLoaderResourceAccessor;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.resource.ResourceAccessor;
import liquibase.sql.Sql;
import liquibase.sqlgenerator.SqlGeneratorFactory;
import liquibase.statement.SqlStatement;
import org.shardflake.sql.LiquibaseRun;

/** Reads a Liquibase changelog, in any of its formats, into the SQL of its changesets. */
final class ShardChangelog implements AutoCloseable {

    private final DeploySettings settings;
    private final ResourceAccessor resources;
    private final String file;

    private ShardChangelog(DeploySettings settings, ResourceAccessor resources, String file) {
        this.settings = settings;
        this.resources = resources;
        this.file = file;
    }

    /**
     * Opens a changelog.
     *
     * @throws DeployException if it is not below the search path, or the search path cannot be read
     */
    static ShardChangelog open(Path changelog, DeploySettings settings) {
        Path absolute = changelog.toAbsolutePath().normalize();
        Path directory = settings.searchPath().toAbsolutePath().normalize();
        if (!absolute.startsWith(directory)) {
            throw new DeployException(
                    "changelog %s is not below %s, where includes are looked for; name another directory with --search-path"
                            .formatted(absolute, directory));
        }
        try {
            String file = directory.relativize(absolute).toString().replace('\\', '/');
            return new ShardChangelog(settings, new DirectoryResourceAccessor(directory), file);
        } catch (IOException e) {
            throw new DeployException("cannot read directory %s: %s".formatted(directory, e.getMessage()), e);
        }
    }

    /** The changelog of tables that Shardflake itself has in each shard. */
    static ShardChangelog of(OwnTables tables) {
        return new ShardChangelog(
                DeploySettings.defaults(Path.of("")),
                new ClassLoaderResourceAccessor(ShardChangelog.class.getClassLoader()),
                tables.file());
    }

    /**
     * The changesets selected by contexts, labels and database, in order.
     *
     * @throws DeployException if Liquibase cannot read the changelog or generate its SQL
     */
    List<ShardChangeSet> read() {
        try {
            return quietly(this::changeSets);
        } catch (DeployException e) {
            throw e;
        } catch (Exception e) {
            throw new DeployException("cannot read changelog %s: %s".formatted(file, rootMessage(e)), e);
        }
    }

    /** Runs work with Liquibase such that it finds the changelog's files. */
    <T> T quietly(Callable<T> work) throws Exception {
        return LiquibaseRun.quietly(resources, work);
    }

    @Override
    public void close() {
        try {
            resources.close();
        } catch (Exception e) {
            // Nothing was written.
        }
    }

    static String rootMessage(Throwable failure) {
        Throwable cause = failure;
        while (cause.getCause() != null && cause.getCause() != cause) {
            cause = cause.getCause();
        }
        return String.valueOf(cause.getMessage() == null ? failure.getMessage() : cause.getMessage());
    }

    private List<ShardChangeSet> changeSets() throws Exception {
        Database database = offline();
        DatabaseChangeLog changelog = parse(database, ShardChangeSet.TEMPLATE_SCHEMA);
        List<ShardChangeSet> changeSets = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        for (ChangeSet changeSet : selected(changelog, database)) {
            ShardChangeSet read = read(changeSet, database);
            if (!seen.add(read.key())) {
                throw new DeployException("changeset %s is there twice".formatted(read.key()));
            }
            changeSets.add(read);
        }
        return changeSets;
    }

    private Database offline() throws Exception {
        PostgresDatabase database = new PostgresDatabase();
        database.setConnection(
                new OfflineConnection("offline:postgresql?version=15.0&outputLiquibaseSql=none", resources));
        database.setDefaultSchemaName(ShardChangeSet.TEMPLATE_SCHEMA);
        // Unqualified, so that one text serves every shard through its search_path.
        database.setOutputDefaultSchema(false);
        return database;
    }

    /** Parses the changelog for one schema. */
    DatabaseChangeLog parse(Database database, String schema) throws Exception {
        ChangeLogParameters parameters = new ChangeLogParameters(database);
        parameters.setContexts(new Contexts(settings.contexts()));
        parameters.setLabels(new LabelExpression(settings.labels()));
        settings.parameters().forEach(parameters::set);
        parameters.set("shard.schema", schema);
        return ChangeLogParserFactory.getInstance().getParser(file, resources).parse(file, parameters, resources);
    }

    private List<ChangeSet> selected(DatabaseChangeLog changelog, Database database) {
        var filters = List.of(
                new ContextChangeSetFilter(new Contexts(settings.contexts())),
                new LabelChangeSetFilter(new LabelExpression(settings.labels())),
                new DbmsChangeSetFilter(database),
                new IgnoreChangeSetFilter());
        return changelog.getChangeSets().stream()
                .filter(changeSet -> filters.stream()
                        .allMatch(filter -> filter.accepts(changeSet).isAccepted()))
                .toList();
    }

    private static ShardChangeSet read(ChangeSet changeSet, Database database) throws Exception {
        String key = changeSet.getFilePath() + "::" + changeSet.getId() + "::" + changeSet.getAuthor();
        if (Boolean.FALSE.equals(changeSet.getFailOnError())) {
            throw new DeployException(
                    "changeset %s has failOnError=false; a shard is deployed whole or not at all, so leave that out"
                            .formatted(key));
        }
        String checksum = changeSet.generateCheckSum(ChecksumVersion.latest()).toString();
        List<String> sql = new ArrayList<>();
        for (Change change : changeSet.getChanges()) {
            if (change.generateStatementsVolatile(database)) {
                throw new DeployException(
                        "change %s of changeset %s depends on what is in the database, so it cannot be the same for every shard; write it as SQL"
                                .formatted(change.getSerializedObjectName(), key));
            }
            sql.addAll(sql(change, change::generateStatements, database));
        }
        Optional<List<String>> rollbackSql = rollbackSql(changeSet, database);
        return new ShardChangeSet(
                changeSet.getId(),
                changeSet.getAuthor(),
                changeSet.getFilePath(),
                files(changeSet),
                checksum,
                String.valueOf(changeSet.getDescription()),
                List.copyOf(sql),
                rollbackSql,
                changeSet.isRunInTransaction(),
                changeSet.isRunOnChange(),
                changeSet.isAlwaysRun(),
                changeSet.getPreconditions() != null
                        && !changeSet
                                .getPreconditions()
                                .getNestedPreconditions()
                                .isEmpty(),
                Stream.concat(sql.stream(), rollbackSql.stream().flatMap(List::stream))
                        .anyMatch(StraySql::lasts));
    }

    private static Optional<List<String>> rollbackSql(ChangeSet changeSet, Database database) throws Exception {
        List<String> sql = new ArrayList<>();
        try {
            List<Change> given = changeSet.getRollback().getChanges();
            if (!given.isEmpty()) {
                for (Change change : given) {
                    sql.addAll(sql(change, change::generateStatements, database));
                }
                return Optional.of(List.copyOf(sql));
            }
            List<Change> changes = changeSet.getChanges();
            for (int i = changes.size() - 1; i >= 0; i--) {
                if (!changes.get(i).supportsRollback(database)) {
                    return Optional.empty();
                }
                Change change = changes.get(i);
                sql.addAll(sql(change, change::generateRollbackStatements, database));
            }
            return Optional.of(List.copyOf(sql));
        } catch (RollbackImpossibleException e) {
            return Optional.empty();
        }
    }

    /** Liquibase's generation of a change's statements. */
    @FunctionalInterface
    private interface Generation {
        SqlStatement[] of(Database database) throws RollbackImpossibleException;
    }

    /**
     * The SQL of a change. When told to strip comments, Liquibase also strips them from function bodies and from anything that looks
     * like one, so that is done here.
     */
    private static List<String> sql(Change change, Generation generation, Database database)
            throws RollbackImpossibleException {
        boolean cutsComments = change instanceof AbstractSQLChange its && Boolean.TRUE.equals(its.isStripComments());
        if (change instanceof AbstractSQLChange its) {
            its.setStripComments(false);
        }
        List<String> sql = new ArrayList<>();
        for (SqlStatement statement : generation.of(database)) {
            for (Sql one : SqlGeneratorFactory.getInstance().generateSql(statement, database)) {
                sql.add(cutsComments ? SqlTokens.withoutComments(one.toSql()) : one.toSql());
            }
        }
        sql.removeIf(one -> SqlTokens.of(one).isEmpty());
        return sql;
    }

    private static List<String> files(ChangeSet changeSet) {
        List<String> files = new ArrayList<>();
        for (Change change : changeSet.getChanges()) {
            if (change instanceof SQLFileChange file) {
                String directory = Boolean.TRUE.equals(file.isRelativeToChangelogFile())
                        ? changeSet.getChangeLog().getPhysicalFilePath().replaceFirst("[^/]*$", "")
                        : "";
                files.add(directory + file.getPath());
            }
        }
        files.add(changeSet.getChangeLog().getPhysicalFilePath());
        return List.copyOf(files);
    }

    /**
     * The location in the SQL of a changeset, for display: {@code app.sql, line 7}; without a line if Liquibase generated the SQL.
     *
     * @param at the offset in the SQL
     */
    String place(ShardChangeSet changeSet, String sql, int at) {
        for (String name : changeSet.files()) {
            int line = line(changeSet, text(name), sql, at);
            if (line > 0) {
                return "%s, line %d".formatted(name, line);
            }
        }
        return changeSet.files().get(changeSet.files().size() - 1);
    }

    private static int line(ShardChangeSet changeSet, String text, String sql, int at) {
        Matcher header = Pattern.compile("(?im)^\\s*--\\s*changeset\\s+\"?%s\"?:\"?%s\"?(\\s|$)"
                        .formatted(Pattern.quote(changeSet.author()), Pattern.quote(changeSet.id())))
                .matcher(text);
        int from = header.find() ? header.start() : 0;
        int found = text.indexOf(sql, from);
        if (found >= 0) {
            return lineOf(text, found + at);
        }
        // If the text has parameters or comments in it, this one line may still match.
        int start = sql.lastIndexOf('\n', at - 1) + 1;
        int end = sql.indexOf('\n', at);
        String its = sql.substring(start, end < 0 ? sql.length() : end).strip();
        found = its.isEmpty() ? -1 : text.indexOf(its, from);
        return found < 0 ? 0 : lineOf(text, found);
    }

    private static int lineOf(String text, int at) {
        return (int) text.substring(0, at).chars().filter(c -> c == '\n').count() + 1;
    }

    private String text(String file) {
        try (InputStream stream = resources.getExisting(file).openInputStream()) {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            return ""; // Then only the line is missing.
        }
    }
}
