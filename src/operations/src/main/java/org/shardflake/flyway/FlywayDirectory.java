/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.flyway;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/** A directory of SQL migrations that follow Flyway's default naming. */
public final class FlywayDirectory {

    private static final String SUFFIX = ".sql";
    private static final String SEPARATOR = "__";
    private static final Pattern CALLBACK = Pattern.compile("((before|after)[A-Z]|createSchema).*");
    private static final Pattern PROGRAM =
            Pattern.compile("[VURB].*__.*\\.(java|class|kt|groovy|sh|bash|bat|cmd|ps1|py)");
    private static final Pattern SQL_IN_OTHER_CASE = Pattern.compile("[VR].*__.*\\.sql", Pattern.CASE_INSENSITIVE);
    private static final int LONGEST_DESCRIPTION = 200;
    private static final char BYTE_ORDER_MARK = '\ufeff';

    private final Path directory;
    private final Map<String, String> values;
    private final String schema;
    private final List<String> problems = new ArrayList<>();

    private FlywayDirectory(Path directory, Map<String, String> values, String schema) {
        this.directory = directory;
        this.values = values;
        this.schema = schema;
    }

    /**
     * Reads the migrations of a directory and its subdirectories: versioned ones in the order of versions, then repeatable ones in the order of
     * descriptions.
     *
     * @param values those of placeholders
     * @param schema what placeholder {@code flyway:defaultSchema} stands for
     * @throws IOException if a file cannot be read
     * @throws IllegalArgumentException if there is no migration, or a file that Flyway would run and shards cannot have, or one whose name is wrong
     */
    public static List<FlywayMigration> read(Path directory, Map<String, String> values, String schema)
            throws IOException {
        return new FlywayDirectory(directory, values, schema).read();
    }

    /** Whether it is a directory with a file that has the name of a migration, at least. */
    public static boolean hasMigrations(Path directory) {
        try {
            return Files.isDirectory(directory)
                    && files(directory).stream()
                            .anyMatch(file -> SQL_IN_OTHER_CASE
                                    .matcher(String.valueOf(file.getFileName()))
                                    .matches());
        } catch (IOException e) {
            return false;
        }
    }

    private List<FlywayMigration> read() throws IOException {
        List<FlywayMigration> migrations = new ArrayList<>();
        for (Path file : files(directory)) {
            Optional<FlywayMigration> migration = read(file);
            migration.ifPresent(migrations::add);
        }
        refuseTwins(migrations);
        if (problems.isEmpty() && migrations.isEmpty()) {
            problems.add("there is no migration in it, such as a file V1__photos.sql");
        }
        if (!problems.isEmpty()) {
            throw new IllegalArgumentException(String.join("\n", problems));
        }
        migrations.sort(Comparator.comparing(FlywayMigration::isRepeatable)
                .thenComparing((one, other) -> one.isRepeatable()
                        ? one.description().compareTo(other.description())
                        : version(one).compareTo(version(other))));
        return List.copyOf(migrations);
    }

    static FlywayVersion version(FlywayMigration migration) {
        return FlywayVersion.parse(migration.id()).orElseThrow();
    }

    /** All files except hidden ones and those in hidden directories. */
    private static List<Path> files(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory, FileVisitOption.FOLLOW_LINKS)) {
            return files.filter(Files::isRegularFile)
                    .filter(file -> !isHidden(directory.relativize(file)))
                    .sorted()
                    .toList();
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private static boolean isHidden(Path path) {
        for (Path part : path) {
            if (part.toString().startsWith(".")) {
                return true;
            }
        }
        return false;
    }

    private Optional<FlywayMigration> read(Path file) throws IOException {
        String name = String.valueOf(file.getFileName());
        String path = directory.relativize(file).toString().replace('\\', '/');
        if (PROGRAM.matcher(name).matches()) {
            problems.add("%s is a program, which does not run in a shard: write SQL".formatted(path));
        } else if (name.endsWith(SUFFIX)) {
            return read(file, path, name.substring(0, name.length() - SUFFIX.length()));
        } else if (SQL_IN_OTHER_CASE.matcher(name).matches()) {
            problems.add("%s does not end with .sql, so Flyway would leave it out".formatted(path));
        }
        return Optional.empty();
    }

    private Optional<FlywayMigration> read(Path file, String path, String name) throws IOException {
        if (CALLBACK.matcher(name).matches()) {
            problems.add("%s is a callback, and shards run migrations only: write a migration, or run it yourself"
                    .formatted(path));
            return Optional.empty();
        }
        String prefix = name.isEmpty() ? "" : name.substring(0, 1);
        int separator = name.indexOf(SEPARATOR, prefix.length());
        String version = separator < 0 ? name.substring(prefix.length()) : name.substring(prefix.length(), separator);
        String description = separator < 0 ? "" : name.substring(separator + SEPARATOR.length());
        Optional<FlywayVersion> parsed = FlywayVersion.parse(version);
        switch (prefix) {
            case "U", "B" -> {
                if (parsed.isEmpty()) {
                    problems.add("Unrecognised migration name format: %s".formatted(path));
                } else if (prefix.equals("B")) { // Undo migrations run only when they are asked for.
                    problems.add("%s is a baseline migration, which stands for others: keep those in its place"
                            .formatted(path));
                }
            }
            case "V" -> {
                if (parsed.isPresent()) {
                    return Optional.of(
                            read(file, path, parsed.get().toString(), version.replace('_', '.'), description));
                }
                problems.add(
                        version.isEmpty()
                                ? "Invalid versioned migration name format: %s (It must contain a version and should look like this: V1.2__%s.sql)"
                                        .formatted(path, description.isEmpty() ? "description" : description)
                                : "Invalid versioned migration name format: %s (could not recognise version number %s)"
                                        .formatted(path, version));
            }
            case "R" -> {
                if (version.isEmpty()) {
                    return Optional.of(read(file, path, FlywayMigration.REPEATABLE, "", description));
                }
                problems.add(
                        "Invalid repeatable migration / callback name format: %s (It cannot contain a version and should look like this: R__%s.sql)"
                                .formatted(path, description.isEmpty() ? "description" : description));
            }
            default -> problems.add("Unrecognised migration name format: %s".formatted(path));
        }
        return Optional.empty();
    }

    private FlywayMigration read(Path file, String path, String id, String version, String description)
            throws IOException {
        ScriptSettings settings = ScriptSettings.of(file);
        String script;
        try {
            script = settings.charset()
                    .newDecoder()
                    .decode(ByteBuffer.wrap(Files.readAllBytes(file)))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException(
                    "%s is not in %s: write it in that encoding".formatted(path, settings.charset()), e);
        }
        int raw = checksum(script);
        Placeholders filled = settings.fillsIn()
                // Flyway makes the name of the file from what it has read.
                ? Placeholders.fill(
                        script,
                        values,
                        schema,
                        description.isEmpty()
                                ? String.valueOf(file.getFileName()).replaceFirst(SEPARATOR + "[.]sql$", SUFFIX)
                                : String.valueOf(file.getFileName()))
                : new Placeholders(script, Optional.empty());
        int ofFilled = checksum(filled.text());
        boolean isRepeatable = id.equals(FlywayMigration.REPEATABLE);
        FlywayScript parsed = FlywayScript.of(withoutMark(filled.text()), settings.inTransaction());
        return new FlywayMigration(
                id,
                version,
                abbreviated(description.replace('_', ' ')),
                path,
                FlywayMigration.CHECKSUM
                        + (isRepeatable ? ofFilled : raw)
                        // The same text may have had other values elsewhere, and a shard's next server needs what it
                        // has had.
                        + (isRepeatable || raw == ofFilled ? "" : ":" + Integer.toHexString(ofFilled)),
                isRepeatable ? Optional.of(FlywayMigration.CHECKSUM + raw) : Optional.empty(),
                filled.refusal().isPresent() ? List.of() : parsed.statements(),
                parsed.inTransaction(),
                filled.refusal().or(parsed::refusal));
    }

    private static String abbreviated(String description) {
        return description.length() <= LONGEST_DESCRIPTION
                ? description
                : description.substring(0, LONGEST_DESCRIPTION - 3) + "...";
    }

    /** Flyway's checksum of a text, computed without line endings, which therefore do not matter. */
    private static int checksum(String text) throws IOException {
        CRC32 checksum = new CRC32();
        BufferedReader lines = new BufferedReader(new StringReader(withoutMark(text)));
        for (@Nullable String line = lines.readLine(); line != null; line = lines.readLine()) {
            checksum.update(line.getBytes(StandardCharsets.UTF_8));
        }
        return (int) checksum.getValue();
    }

    private static String withoutMark(String text) {
        return !text.isEmpty() && text.charAt(0) == BYTE_ORDER_MARK ? text.substring(1) : text;
    }

    private void refuseTwins(List<FlywayMigration> migrations) {
        Map<String, FlywayMigration> known = new HashMap<>();
        for (FlywayMigration migration : migrations) {
            String identity = migration.isRepeatable() ? migration.key() : migration.id();
            @Nullable FlywayMigration twin = known.put(identity, migration);
            if (twin != null) {
                problems.add(String.format(
                        Locale.ROOT,
                        migration.isRepeatable()
                                ? "Found more than one repeatable migration with description %s: %s and %s"
                                : "Found more than one migration with version %s: %s and %s",
                        migration.isRepeatable() ? migration.description() : migration.version(),
                        twin.file(),
                        migration.file()));
            }
        }
    }
}
