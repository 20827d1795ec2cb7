/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;

/** Flyway's migrations made at random, in a directory: each script fits what the ones before have made. */
final class RandomMigrations {

    /** The values of their placeholders. */
    static final Map<String, String> PLACEHOLDERS = Map.of("Word", "it''s; -- no comment", "type", "text", "none", "");

    private final Random random;
    private final Path directory;
    private final List<String> tables = new ArrayList<>();
    private final List<Path> versioned = new ArrayList<>();
    private final List<Path> repeatable = new ArrayList<>();
    private int version;
    private int named;

    RandomMigrations(Random random, Path directory) {
        this.random = random;
        this.directory = directory;
    }

    List<Path> versioned() {
        return versioned;
    }

    List<Path> repeatable() {
        return repeatable;
    }

    private int upTo(int most) {
        return random.nextInt(most) + 1;
    }

    private String one(String... of) {
        return of[random.nextInt(of.length)];
    }

    private String name(String kind) {
        return kind + "_" + ++named;
    }

    private int newId() {
        return ++named;
    }

    private String table() {
        return tables.get(random.nextInt(tables.size()));
    }

    /** Adds a versioned migration with a version after all others. */
    void add() throws IOException {
        version += upTo(3);
        add(one("%s", "%s.0", "0%s", "%s_0_0", "%s.1", "%s_01").formatted(version));
    }

    /** Adds one with a version before all others, which depends on none. */
    void addLower() throws IOException {
        versioned.add(write(
                "V0.%s__lower.sql".formatted(++named), "CREATE TABLE %s (id int PRIMARY KEY);".formatted(name("low"))));
    }

    private void add(String its) throws IOException {
        String file = "%sV%s%s.sql"
                .formatted(one("", "", "sub/", "sub/sub sub/"), its, one("", "__", "__a_b", "__Ünïcode c", "___d__e"));
        if (!tables.isEmpty() && random.nextInt(8) == 0) {
            String index = "CREATE %s INDEX %s CONCURRENTLY %s ON %s (id);";
            StringBuilder text = new StringBuilder();
            for (int i = upTo(2); i > 0; i--) {
                text.append(index.formatted(one("", "UNIQUE", "/* ( */"), one("", "-- ;\n"), name("later"), table()));
            }
            versioned.add(write(file, text.toString()));
            return;
        }
        StringBuilder text = new StringBuilder(one("", "\n\n", "-- first; line\n", "/* a /* nested; */ comment */\n"));
        boolean isAlone = random.nextInt(8) == 0;
        for (int i = upTo(4); i > 0; i--) {
            text.append(statement()).append(one(";", ";\n", " ; -- ${Word}\n", ";;\n\n", ";\r\n"));
        }
        text.append(one("", "-- the end", "SELECT 1", "/* ; */;"));
        if (isAlone) {
            write(file + ".conf", "# alone\nexecuteInTransaction=false\n");
        }
        versioned.add(write(file, text.toString()));
    }

    /** Adds a repeatable migration, or changes one. */
    void addRepeatable() throws IOException {
        if (!repeatable.isEmpty() && random.nextBoolean()) {
            Path file = repeatable.get(random.nextInt(repeatable.size()));
            Files.writeString(
                    file, Files.readString(file) + one("-- more\n", "SELECT '${type}';\n", "\n", "SELECT $$;$$;"));
            return;
        }
        String name = name("view");
        repeatable.add(write(
                "R__%s%s.sql".formatted(one("", "z ", "A_"), name),
                "CREATE OR REPLACE VIEW %s AS SELECT '${word}'::${type} AS a, $$${none}'$$::text AS b;\n"
                        .formatted(name)));
    }

    private String statement() {
        if (tables.isEmpty() || random.nextInt(4) == 0) {
            String table = name("t");
            tables.add(table);
            return "CREATE TABLE %s%s (id bigint PRIMARY KEY, body ${type} DEFAULT '${word}', \"a;b\" int)"
                    .formatted(one("", "", "${flyway:defaultSchema}.", "${FLYWAY:defaultschema}."), table);
        }
        String table = table();
        return switch (random.nextInt(16)) {
            case 0 -> "ALTER TABLE %s ADD COLUMN %s text DEFAULT E'\\';' NOT NULL".formatted(table, name("c"));
            case 1 ->
                "INSERT INTO %s (id, body) VALUES (%s, 'a;''--b'), (%s, $x$;'$$${word}$x$)"
                        .formatted(table, newId(), newId());
            case 2 ->
                "INSERT INTO %s (id, body) SELECT %s, U&'\\0041;' || '${flyway:filename}'".formatted(table, ++named);
            case 3 -> "UPDATE %s SET body = body || ${none}'/* ; */'".formatted(table);
            case 4 -> "CREATE INDEX %s ON %s (id, \"a;b\")".formatted(name("i"), table);
            case 5 ->
                "CREATE FUNCTION %s() RETURNS int LANGUAGE plpgsql AS $$ BEGIN -- it's\n PERFORM 1; RETURN 2; END; $$"
                        .formatted(name("f"));
            case 6 ->
                "CREATE FUNCTION %s(a int) RETURNS int BEGIN ATOMIC SELECT CASE a WHEN 1 THEN 2 END; SELECT 3; END"
                        .formatted(name("f"));
            case 7 -> "DO $do$ BEGIN INSERT INTO %s (id) VALUES (%s); END; $do$".formatted(table, ++named);
            case 8 -> "COMMENT ON TABLE %s IS 'it''s; %s'".formatted(table, ++named);
            case 9 -> "CREATE TYPE %s AS ENUM ('a', ';')".formatted(name("e"));
            case 10 -> "CREATE RULE %s AS ON DELETE TO %s DO ALSO (SELECT 1; SELECT 2)".formatted(name("r"), table);
            case 11 -> "SET TimeZone = '%s'".formatted(one("UTC", "Asia/Tokyo"));
            case 12 ->
                "CREATE TABLE %s (id int PRIMARY KEY, at timestamptz DEFAULT '2020-01-01 00:00')".formatted(name("at"));
            case 13 -> "DELETE FROM %s WHERE id %% 3 = 0".formatted(table);
            case 14 -> "SELECT 1 AS \"from stdin\"";
            default -> "SELECT ';', \"a;b\", 1.e1, '$${Word}' FROM %s WHERE id -- ;\n < 3".formatted(table);
        };
    }

    private Path write(String file, String text) throws IOException {
        Path path = directory.resolve(file);
        Files.createDirectories(Objects.requireNonNull(path.getParent()));
        String mark = file.endsWith(".sql") && random.nextInt(6) == 0 ? "\ufeff" : "";
        String lines = random.nextInt(6) == 0 ? text.replace("\r\n", "\n").replace("\n", "\r\n") : text;
        return Files.write(path, (mark + lines).getBytes(StandardCharsets.UTF_8));
    }

    /** The name of a file made of what names have, and of what they should not have. */
    static String name(Random random) {
        if (random.nextInt(3) > 0) {
            return of(random, "V", "V", "R").equals("R")
                    ? "R__%s.sql".formatted(of(random, "a", "b_c", "", "a__b", "B"))
                    : "V%s%s%s.sql"
                            .formatted(
                                    random.nextInt(3),
                                    of(random, "", ".0", "_1", ".01", "_0.0"),
                                    of(random, "", "__", "__a", "__b_c d", "___", "__Ü.x"));
        }
        StringBuilder name = new StringBuilder(of(random, "V", "V", "V", "R", "R", "v", "x", "__"));
        for (int i = random.nextInt(4); i > 0; i--) {
            name.append(of(random, "1", "2", "0", "01", ".", "_", "a", "-", " ", "20260101"));
        }
        name.append(of(random, "__", "__", "__", "_", ""));
        for (int i = random.nextInt(3); i > 0; i--) {
            name.append(of(random, "a", "b_c", "__", ".", " ", "ü"));
        }
        return name.append(of(random, ".sql", ".sql", ".sql", ".sql.conf", ".txt", ".sql.sql"))
                .toString();
    }

    private static String of(Random random, String... values) {
        return values[random.nextInt(values.length)];
    }
}
