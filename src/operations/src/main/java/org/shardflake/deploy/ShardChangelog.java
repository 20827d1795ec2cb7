/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import liquibase.ChecksumVersion;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Scope;
import liquibase.change.Change;
import liquibase.change.ChangeFactory;
import liquibase.change.ChangeParameterMetaData;
import liquibase.change.CheckSum;
import liquibase.change.core.OutputChange;
import liquibase.change.core.SQLFileChange;
import liquibase.change.core.TagDatabaseChange;
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
import liquibase.database.jvm.JdbcConnection;
import liquibase.exception.LiquibaseException;
import liquibase.exception.UnexpectedLiquibaseException;
import liquibase.parser.ChangeLogParserFactory;
import liquibase.resource.ClassLoaderResourceAccessor;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.resource.ResourceAccessor;
import liquibase.sql.visitor.SqlVisitor;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.flyway.AppliedMigrations;
import org.shardflake.flyway.FlywayDirectory;
import org.shardflake.flyway.FlywayMigration;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.sql.LiquibaseRun;

/** Reads a Liquibase changelog, in any of its formats, or Flyway's migrations, into the SQL of its changesets. */
final class ShardChangelog implements AutoCloseable {

    /** The line that begins a changeset of formatted SQL. */
    private static final Pattern HEADER = Pattern.compile("(?im)^\\s*--\\s*changeset\\s.*$");

    private static final String GARBLED =
            "has text that is not UTF-8, and U+FFFD would be stored in its place: convert the file, for example with iconv -t UTF-8, or give its encoding where the change has that attribute";

    /** The beginning of Liquibase's message about a file whose name suggests no kind of changelog. */
    private static final String NO_PARSER = "Cannot find parser that supports ";

    private static final String UNKNOWN_KIND =
            "Liquibase knows no changelogs with names like this; they end with .sql, .xml, .yaml, .yml or .json";

    private final DeploySettings settings;
    private final ResourceAccessor resources;
    private final String file;
    private final Map<String, ChangeSet> byKey = new HashMap<>();
    private List<FlywayMigration> migrations = List.of();
    private @Nullable DatabaseChangeLog parsed;

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
        if (settings.flyway().isPresent()) {
            return of(absolute, settings);
        }
        Path directory = settings.searchPath().toAbsolutePath().normalize();
        if (!absolute.startsWith(directory)) {
            throw new DeployException(
                    ShardflakeException.Kind.FAILURE,
                    "changelog %s is not below %s, where includes are looked for".formatted(absolute, directory),
                    Advice.of("name another directory: %s", CliCommand.SCHEMA_DEPLOY_SEARCH));
        }
        if (!Files.exists(absolute) || Files.isDirectory(absolute)) {
            throw new DeployException(
                    ShardflakeException.Kind.FAILURE,
                    "cannot read changelog %s: %s"
                            .formatted(
                                    changelog, Files.exists(absolute) ? "it is a directory" : "there is no such file"),
                    FlywayDirectory.hasMigrations(absolute)
                            ? "for the migrations of Flyway in it, write flyway:" + changelog
                            : "name a file with a changelog of Liquibase, such as db/app.xml or db/app.sql");
        }
        try {
            String file = directory.relativize(absolute).toString().replace('\\', '/');
            return new ShardChangelog(settings, new DirectoryResourceAccessor(directory), file);
        } catch (IOException e) {
            throw new DeployException("cannot read directory %s: %s".formatted(directory, e.getMessage()), e);
        }
    }

    private static ShardChangelog of(Path migrations, DeploySettings settings) {
        if (!Files.isDirectory(migrations)) {
            throw new DeployException(
                    ShardflakeException.Kind.FAILURE,
                    "there is no directory %s".formatted(migrations),
                    "name the one with the migrations, such as V1__photos.sql");
        }
        try {
            return new ShardChangelog(settings, new DirectoryResourceAccessor(migrations), migrations.toString());
        } catch (IOException e) {
            throw new DeployException("cannot read directory %s: %s".formatted(migrations, e.getMessage()), e);
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
            return settings.flyway().isPresent() ? readMigrations() : quietly(this::changeSets);
        } catch (DeployException e) {
            throw e;
        } catch (Exception e) {
            String reason = rootMessage(e);
            throw new DeployException(
                    "cannot read changelog %s: %s"
                            .formatted(file, reason.startsWith(NO_PARSER) ? UNKNOWN_KIND : reason),
                    e);
        }
    }

    /** Runs work with Liquibase so that it finds the changelog's files and prints nothing. */
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
        if (cause instanceof ClassNotFoundException) {
            return cause.toString(); // Its message is just the name, or blank.
        }
        return String.valueOf(cause.getMessage() == null ? failure.getMessage() : cause.getMessage());
    }

    private List<ShardChangeSet> readMigrations() throws IOException {
        migrations = FlywayDirectory.read(Path.of(file), settings.parameters(), ShardChangeSet.TEMPLATE_SCHEMA);
        List<FlywayMigration> taken =
                settings.applied().map(AppliedMigrations::taken).orElse(List.of());
        Set<String> keys = taken.stream().map(FlywayMigration::key).collect(Collectors.toSet());
        return Stream.concat(
                        taken.stream(),
                        migrations.stream()
                                .filter(migration -> !keys.contains(migration.key())
                                        && settings.applied()
                                                .filter(applied -> applied.isBelowBaseline(migration))
                                                .isEmpty()))
                .map(ShardChangelog::changeSet)
                .toList();
    }

    private static ShardChangeSet changeSet(FlywayMigration migration) {
        return new ShardChangeSet(
                migration.id(),
                migration.description(),
                FlywayMigration.PATH,
                List.of(migration.file()),
                migration.checksum(),
                migration.file(),
                migration.sql(),
                Optional.empty(),
                migration.inTransaction(),
                migration.isRepeatable(),
                false,
                false,
                migration.sql().stream().anyMatch(StraySql::lasts),
                migration.refusal(),
                Optional.empty(),
                migration.otherChecksum().stream().collect(Collectors.toSet()),
                Optional.empty(),
                List.of());
    }

    /** Flyway's migrations, after {@link #read}; empty for a Liquibase changelog. */
    List<FlywayMigration> migrations() {
        return migrations;
    }

    private List<ShardChangeSet> changeSets() throws Exception {
        Database database = offline();
        parsed = parse(database, ShardChangeSet.TEMPLATE_SCHEMA);
        refuseEmptyEnds(parsed);
        List<ShardChangeSet> changeSets = new ArrayList<>();
        for (ChangeSet changeSet : selected(parsed, database)) {
            ShardChangeSet read;
            try {
                read = read(changeSet, database);
            } catch (DeployException e) {
                throw e;
            } catch (Exception e) { // Liquibase checks few of the values that it casts.
                throw new DeployException("cannot read changeset %s: %s".formatted(changeSet, rootMessage(e)), e);
            }
            if (byKey.put(read.key(), changeSet) != null) {
                throw new DeployException("changeset %s appears twice".formatted(read.key()));
            }
            changeSets.add(read);
        }
        return changeSets;
    }

    /**
     * Refuses changesets without SQL at the end of a file: elsewhere Liquibase refuses them itself, but there it uses the SQL of the changeset
     * before.
     */
    private void refuseEmptyEnds(DatabaseChangeLog changelog) {
        Map<String, ChangeSet> last = new LinkedHashMap<>();
        for (ChangeSet changeSet : changelog.getChangeSets()) {
            last.put(changeSet.getChangeLog().getPhysicalFilePath(), changeSet);
        }
        last.forEach((name, changeSet) -> {
            if (name.toLowerCase(Locale.ROOT).endsWith(".sql") && endsEmpty(text(name))) {
                throw new DeployException(
                        "cannot read changelog %s: No SQL for changeset %s".formatted(file, changeSet));
            }
        });
    }

    private static boolean endsEmpty(String text) {
        Matcher header = HEADER.matcher(text);
        int end = -1;
        while (header.find()) {
            end = header.end();
        }
        return end >= 0 && SqlTokens.of(text.substring(end)).isEmpty();
    }

    /** The changelog in Liquibase's form, for the template's schema; empty before {@link #read}. */
    Optional<DatabaseChangeLog> parsed() {
        return Optional.ofNullable(parsed);
    }

    /** The changeset in Liquibase's own form; none if it is not part of this changelog. */
    Optional<ChangeSet> changeSet(ShardChangeSet changeSet) {
        return Optional.ofNullable(byKey.get(changeSet.key()));
    }

    private static List<String> make(ChangeSet changeSet, Connection connection, String schema) throws Exception {
        PostgresDatabase database = new PostgresDatabase();
        database.setConnection(new JdbcConnection(connection));
        database.setDefaultSchemaName(schema);
        database.setOutputDefaultSchema(false);
        changeSet.getChanges().forEach(change -> rename(change, ShardChangeSet.TEMPLATE_SCHEMA, schema));
        try {
            List<String> made = ChangeSql.of(changeSet, database).stream()
                    .map(sql -> sql.replace(schema, ShardChangeSet.TEMPLATE_SCHEMA))
                    .toList();
            if (isGarbled(made)) {
                throw new DeployException("it " + GARBLED);
            }
            return made;
        } finally {
            changeSet.getChanges().forEach(change -> rename(change, schema, ShardChangeSet.TEMPLATE_SCHEMA));
        }
    }

    /** Replaces one schema by another in the attributes of a change. */
    private static void rename(Change change, String from, String to) {
        Map<String, ChangeParameterMetaData> attributes = Scope.getCurrentScope()
                .getSingleton(ChangeFactory.class)
                .getChangeMetaData(change)
                .getParameters();
        for (ChangeParameterMetaData attribute : attributes.values()) {
            if (from.equals(attribute.getCurrentValue(change))) {
                attribute.setValue(change, to);
            }
        }
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

    private ShardChangeSet read(ChangeSet changeSet, Database database) throws Exception {
        String checksum = changeSet.generateCheckSum(ChecksumVersion.latest()).toString();
        database.setObjectQuotingStrategy(changeSet.getObjectQuotingStrategy());
        Optional<String> refusal = refusal(changeSet, database);
        boolean isLater = refusal.isEmpty() && needsTables(changeSet, database);
        List<String> sql = List.of();
        if (isLater) {
            sql = List.of("-- %s: its SQL depends on the table's columns, and is made on the first shard"
                    .formatted(changeSet.getDescription()));
        } else if (refusal.isEmpty()) {
            sql = ChangeSql.of(changeSet, database);
        }
        if (isGarbled(sql)) {
            refusal = Optional.of(GARBLED);
        }
        Optional<List<String>> rollbackSql = rollbackSql(changeSet, database);
        return new ShardChangeSet(
                changeSet.getId(),
                changeSet.getAuthor(),
                changeSet.getFilePath(),
                files(changeSet),
                checksum,
                String.valueOf(changeSet.getDescription()),
                sql,
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
                        .anyMatch(StraySql::lasts),
                refusal,
                isLater
                        ? Optional.of(new LaterSql(
                                (connection, schema) -> quietly(() -> make(changeSet, connection, schema))))
                        : Optional.empty(),
                changeSet.getValidCheckSums().stream().map(CheckSum::toString).collect(Collectors.toSet()),
                all(changeSet, TagDatabaseChange.class)
                        .map(TagDatabaseChange::getTag)
                        .findFirst(),
                all(changeSet, OutputChange.class)
                        .filter(change -> ChangeSql.runs(change, database))
                        .map(OutputChange::getMessage)
                        .toList());
    }

    /** Whether Liquibase has put U+FFFD in place of bytes that it could not decode. */
    private static boolean isGarbled(List<String> sql) {
        return sql.stream().anyMatch(text -> text.indexOf('\uFFFD') >= 0);
    }

    private static <T> Stream<T> all(ChangeSet changeSet, Class<T> type) {
        return changeSet.getChanges().stream().filter(type::isInstance).map(type::cast);
    }

    private static Optional<String> refusal(ChangeSet changeSet, Database database) throws LiquibaseException {
        if (Boolean.FALSE.equals(changeSet.getFailOnError())) {
            return Optional.of(
                    "has failOnError=false; a shard is deployed whole or not at all, so leave that out, or give it preconditions");
        }
        String runWith = changeSet.getRunWith();
        if (runWith != null && !runWith.isBlank() && !runWith.equalsIgnoreCase("jdbc")) {
            return Optional.of(
                    "has runWith=%s; shards are deployed over JDBC, so write SQL without that program's own commands, and leave runWith out"
                            .formatted(runWith));
        }
        for (Change change : changeSet.getChanges()) {
            if (ChangeSql.runs(change, database)) {
                Optional<String> refusal = ChangeSql.refusal(change, database);
                if (refusal.isPresent()) {
                    return refusal;
                }
            }
        }
        return Optional.empty();
    }

    private static boolean needsTables(ChangeSet changeSet, Database database) {
        return changeSet.getChanges().stream()
                .anyMatch(change -> ChangeSql.runs(change, database) && ChangeSql.needsTables(change, database));
    }

    private static Optional<List<String>> rollbackSql(ChangeSet changeSet, Database database) {
        List<SqlVisitor> visitors = changeSet.getSqlVisitors().stream()
                .filter(SqlVisitor::isApplyToRollback)
                .toList();
        List<String> sql = new ArrayList<>();
        try {
            List<Change> given = changeSet.getRollback().getChanges();
            if (!given.isEmpty()) {
                for (Change change : given) {
                    if (ChangeSql.runs(change, database)) {
                        if (ChangeSql.refusal(change, database).isPresent()
                                || ChangeSql.needsTables(change, database)) {
                            return Optional.empty();
                        }
                        sql.addAll(ChangeSql.of(change, change::generateStatements, database, visitors));
                    }
                }
                return Optional.of(List.copyOf(sql));
            }
            List<Change> changes = changeSet.getChanges();
            for (int i = changes.size() - 1; i >= 0; i--) {
                if (!changes.get(i).supportsRollback(database)) {
                    return Optional.empty();
                }
                Change change = changes.get(i);
                sql.addAll(ChangeSql.of(change, change::generateRollbackStatements, database, visitors));
            }
            return Optional.of(List.copyOf(sql));
        } catch (LiquibaseException | UnexpectedLiquibaseException e) {
            return Optional.empty();
        }
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
                return "%s, line %s".formatted(name, line);
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
