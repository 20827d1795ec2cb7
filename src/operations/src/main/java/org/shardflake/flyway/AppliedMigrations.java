/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.flyway;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.jdbc.Sql;
import org.shardflake.yaml.TextFile;
import org.shardflake.yaml.YamlNode;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;

/**
 * A history that Flyway has recorded in a database, also stored as a YAML file. Shards whose tables were planned after that database take it
 * over: each of its versions then counts as one that a shard has had.
 *
 * <pre>
 * table: public.flyway_schema_history
 * migrations:
 * - {version: '1', description: photos, type: SQL, script: V1__photos.sql, checksum: 1234567, success: true}
 * - {description: titles, type: SQL, script: R__titles.sql, checksum: -7654321, success: true}
 * </pre>
 *
 * @param table the name of the history's table
 * @param migrations in the order in which they were applied
 */
public record AppliedMigrations(String table, List<Applied> migrations) {

    /** The columns that identify a table as Flyway's history whatever its name, as the text of a SQL array. */
    public static final String COLUMNS = "'{installed_rank,version,description,type,script,checksum,success}'";

    /** The number of columns in {@link #COLUMNS}. */
    public static final int COLUMN_COUNT = 7;

    private static final String HEAD = """
            # What Flyway had applied when the changelogs of this plan were made. Keep it in version control. Remove lines only of repeatable
            # migrations of tables that stay outside, whose files shards do not get.
            """;

    /**
     * A line of Flyway's history.
     *
     * @param version empty if the migration is repeatable
     * @param type such as SQL, BASELINE or JDBC
     * @param checksum empty for a baseline, for example
     * @param isDone false if the migration failed
     */
    public record Applied(
            Optional<String> version,
            String description,
            String type,
            String script,
            Optional<Integer> checksum,
            boolean isDone) {

        /** Whether this line is the baseline: versions up to it existed before Flyway. */
        boolean isBaseline() {
            return type.equals("BASELINE") || type.equals("SQL_BASELINE");
        }

        private boolean isSql() {
            return type.equals("SQL");
        }

        /** The migration's name in a shard's history. */
        private String key() {
            return FlywayMigration.PATH + "::" + id() + "::" + description;
        }

        private String id() {
            return version.map(its -> FlywayVersion.parse(its)
                            .orElseThrow(() -> new IllegalArgumentException(
                                    "version %s of Flyway's history is not one of numbers with dots".formatted(its)))
                            .toString())
                    .orElse(FlywayMigration.REPEATABLE);
        }

        private String recorded() {
            return isBaseline()
                    ? FlywayMigration.BASELINE
                    : isSql()
                            ? FlywayMigration.CHECKSUM
                                    + checksum.map(String::valueOf).orElse("")
                                    + FlywayMigration.TAKEN_OVER
                            : FlywayMigration.PROGRAM + type;
        }
    }

    public AppliedMigrations {
        migrations = List.copyOf(migrations);
    }

    /** The names of all Flyway histories in a database that the login may read, quoted. */
    public static List<String> tables(Connection connection) throws SQLException {
        return Sql.list(connection, """
                SELECT format('%%I.%%I', n.nspname, c.relname)
                  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.relkind = 'r' AND has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE')
                   AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = ANY (%s) HAVING count(*) = %s)
                 ORDER BY 1
                """.formatted(COLUMNS, COLUMN_COUNT), row -> row.getString(1));
    }

    /**
     * Reads a history.
     *
     * @param table one of {@link #tables}
     */
    public static AppliedMigrations read(Connection connection, String table) throws SQLException {
        return new AppliedMigrations(
                table,
                Sql.list(
                        connection,
                        "SELECT version, description, type, script, checksum, success FROM %s ORDER BY installed_rank"
                                .formatted(table),
                        row -> new Applied(
                                Optional.ofNullable(row.getString(1)),
                                row.getString(2),
                                row.getString(3),
                                row.getString(4),
                                Optional.ofNullable((Integer) row.getObject(5)),
                                row.getBoolean(6))));
    }

    /**
     * Reads a file.
     *
     * @throws IllegalArgumentException if it is not one of {@link #format}
     */
    public static AppliedMigrations read(Path file) throws IOException {
        return TextFile.read(file, AppliedMigrations::parse);
    }

    static AppliedMigrations parse(String yaml) {
        if (!(YamlNode.load(yaml, "history") instanceof Map<?, ?> root)
                || !(root.get("migrations") instanceof List<?> lines)) {
            throw new IllegalArgumentException("must have a list of migrations, as it is written with a plan");
        }
        List<Applied> migrations = new ArrayList<>();
        for (Object line : lines) {
            int number = migrations.size() + 1;
            if (!(line instanceof Map<?, ?> map)) {
                throw new IllegalArgumentException(
                        "migration %s must be a mapping of names to values".formatted(number));
            }
            @Nullable Object checksum = map.get("checksum");
            if (checksum != null && !(checksum instanceof Integer)) {
                throw new IllegalArgumentException(
                        "the checksum of migration %s is %s, and must be a whole number of 32 bits"
                                .formatted(number, checksum));
            }
            if (!(map.get("success") instanceof Boolean isDone)) {
                throw new IllegalArgumentException("success of migration %s is %s, and must be true or false"
                        .formatted(number, map.get("success")));
            }
            Applied applied = new Applied(
                    map.get("version") == null ? Optional.empty() : Optional.of(text(map, "version", number)),
                    text(map, "description", number),
                    text(map, "type", number),
                    text(map, "script", number),
                    Optional.ofNullable((Integer) checksum),
                    isDone);
            applied.id(); // refuses what is not a version
            migrations.add(applied);
        }
        return new AppliedMigrations(String.valueOf(root.get("table")), migrations);
    }

    private static String text(Map<?, ?> map, String property, int number) {
        if (map.get(property) instanceof String text) {
            return text;
        }
        throw new IllegalArgumentException("%s of migration %s is %s, and must be a text; write it in quotes"
                .formatted(property, number, map.get(property)));
    }

    /** The history as the text of a file. */
    public String format() {
        List<Map<String, Object>> lines = new ArrayList<>();
        for (Applied applied : migrations) {
            Map<String, Object> line = new LinkedHashMap<>();
            applied.version().ifPresent(version -> line.put("version", version));
            line.put("description", applied.description());
            line.put("type", applied.type());
            line.put("script", applied.script());
            applied.checksum().ifPresent(checksum -> line.put("checksum", checksum));
            line.put("success", applied.isDone());
            lines.add(line);
        }
        Map<String, Object> root = new LinkedHashMap<>();
        root.put("table", table);
        root.put("migrations", lines);
        return HEAD
                + new Dump(DumpSettings.builder().setWidth(Integer.MAX_VALUE).build()).dumpToString(root);
    }

    /**
     * The history that shards take over: the only one, or the one that has all versions of the others with the same checksums, as a table that was
     * copied for a later version of Flyway.
     */
    public static Optional<AppliedMigrations> chosen(List<AppliedMigrations> all) {
        List<AppliedMigrations> complete = all.stream()
                .filter(one -> all.stream().allMatch(other -> one.taken().containsAll(other.taken())))
                .toList();
        return complete.size() == 1 ? Optional.of(complete.get(0)) : Optional.empty();
    }

    /** Whether this is another history than the one in a file, from which repeatable migrations may have been removed. */
    public boolean isOtherThan(AppliedMigrations inFile) {
        Set<Applied> those = Set.copyOf(inFile.migrations);
        return !new AppliedMigrations(
                        table,
                        migrations.stream()
                                .filter(applied -> applied.version().isPresent() || those.contains(applied))
                                .toList())
                .equals(inFile);
    }

    /** The latest version, if there is one. */
    public Optional<String> last() {
        return effective().stream()
                .flatMap(applied -> applied.version().stream())
                .reduce((one, other) -> other);
    }

    /** The migrations in effect: without undone ones, and without those that Flyway's repair has marked as deleted. */
    private List<Applied> effective() {
        Map<String, Applied> effective = new LinkedHashMap<>();
        for (Applied applied : migrations) {
            String identity = applied.version().isPresent() ? applied.id() : applied.key();
            effective.remove(identity);
            boolean isTakenBack =
                    applied.type().equals("DELETE") || applied.type().startsWith("UNDO_");
            if (!isTakenBack && !applied.type().equals("SCHEMA")) {
                effective.put(identity, applied);
            }
        }
        return List.copyOf(effective.values());
    }

    /**
     * The migrations that a shard takes over into its history without running them. Repeatable migrations are not among them: they run again.
     */
    public List<FlywayMigration> taken() {
        return effective().stream()
                .filter(applied -> applied.isDone() && applied.version().isPresent())
                .map(applied -> new FlywayMigration(
                        applied.id(),
                        applied.version().orElseThrow(),
                        applied.description(),
                        applied.script(),
                        applied.recorded(),
                        Optional.empty(),
                        List.of(),
                        true,
                        Optional.empty()))
                .toList();
    }

    /** The migrations that failed and so cannot be taken over, in Flyway's words. */
    List<String> failed() {
        return effective().stream()
                .filter(applied -> !applied.isDone())
                .map(applied -> applied.version()
                        .map(version -> "Detected failed migration to version %s (%s)"
                                .formatted(version, applied.description()))
                        .orElse("Detected failed repeatable migration: " + applied.description()))
                .toList();
    }

    /** Whether a migration's version is at or below the baseline, so that Flyway has never run its file. */
    public boolean isBelowBaseline(FlywayMigration migration) {
        return FlywayHistory.isBelowBaseline(checksums(), migration.id());
    }

    /** Checksums by the keys in a shard's history, including repeatable migrations. */
    Map<String, @Nullable String> checksums() {
        Map<String, @Nullable String> checksums = new LinkedHashMap<>();
        effective().forEach(applied -> checksums.put(applied.key(), applied.recorded()));
        return checksums;
    }
}
