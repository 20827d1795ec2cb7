/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An older program can tell that SQL is newer only if its number went up whenever the SQL changed. */
class SqlVersionTest {

    private static final Path RESOURCES = Path.of("src/main/resources/shardflake");

    private static final Path VERSIONS = RESOURCES.resolve("versions.properties");

    @ParameterizedTest
    @CsvSource({"library, server.changelog.xml, functions internal install", "catalog, catalog.changelog.xml, catalog"})
    void aVersionIsRaisedWhenItsSqlChanges(String part, String changelog, String directories)
            throws IOException, NoSuchAlgorithmException {
        String sql = digest(changelog, List.of(directories.split(" ", -1)));
        String versions = Files.readString(VERSIONS);
        String recorded = value(versions, "shardflake.%s.sql=".formatted(part));
        int version = Integer.parseInt(value(versions, "shardflake.%s.version=".formatted(part)));

        if (!sql.equals(recorded) && System.getProperty("versions.update") != null) {
            Files.writeString(
                    VERSIONS,
                    versions.replace("%s.sql=%s".formatted(part, recorded), "%s.sql=%s".formatted(part, sql))
                            .replace(
                                    "%s.version=%s".formatted(part, version),
                                    "%s.version=%s".formatted(part, version + 1)));
            return;
        }
        assertThat(recorded)
                .as(
                        "the SQL of the %1$s has changed: in %2$s raise shardflake.%1$s.version to %3$s and set shardflake.%1$s.sql to %4$s,"
                                + " or let this test do both with -Dversions.update",
                        part, VERSIONS, version + 1, sql)
                .isEqualTo(sql);
    }

    private static String value(String versions, String key) {
        return versions.lines()
                .filter(line -> line.startsWith(key))
                .findFirst()
                .orElseThrow()
                .substring(key.length());
    }

    /** Of names and texts, in their order. */
    private static String digest(String changelog, List<String> directories)
            throws IOException, NoSuchAlgorithmException {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        add(digest, RESOURCES.resolve(changelog));
        for (String directory : directories) {
            try (Stream<Path> files = Files.list(RESOURCES.resolve(directory))) {
                for (Path file : files.sorted().toList()) {
                    add(digest, file);
                }
            }
        }
        return HexFormat.of().formatHex(digest.digest()).substring(0, 16);
    }

    private static void add(MessageDigest digest, Path file) throws IOException {
        digest.update(String.valueOf(file.getFileName()).getBytes(UTF_8));
        digest.update(Files.readString(file).replace("\r\n", "\n").getBytes(UTF_8));
    }
}
