/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.sqltext;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.sql.FunctionLibrary;

/** Compares the lists of words with what the server knows. */
class WordListTest {

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("library", FunctionLibrary::deploy);

    @Test
    void eachIsAWordOfTheServerAndVolatileFunctionsAreMarked() throws Exception {
        Map<String, String> marks = marks("everyday-words.txt");
        try (Connection connection = postgres.database(0).connect()) {
            int version = connection.getMetaData().getDatabaseMajorVersion();
            Set<String> known = names(connection, """
                    SELECT word FROM pg_get_keywords()
                     UNION SELECT proname FROM pg_proc WHERE pronamespace IN ('pg_catalog'::regnamespace, 'shardflake'::regnamespace)
                     UNION SELECT typname FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace
                    """);
            Set<String> expected = wordsOf(version, marks);
            assertThat(known).containsAll(expected);

            // A new one has to be looked at: it may change the session.
            Set<String> volatileOnes = names(
                    connection,
                    "SELECT proname FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND provolatile = 'v'");
            volatileOnes.retainAll(expected);
            assertThat(expected.stream()
                            .filter(word -> marks.getOrDefault(word, "").contains("volatile")))
                    .containsExactlyInAnyOrderElementsOf(volatileOnes);
        }
    }

    @Test
    void theReservedWordsAreThoseOfTheServer() throws Exception {
        try (Connection connection = postgres.database(0).connect()) {
            assertThat(wordsOf(connection.getMetaData().getDatabaseMajorVersion(), marks("reserved-words.txt")))
                    .isEqualTo(names(connection, "SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T')"));
        }
    }

    @Test
    void wordsThatDependOnTheSearchPathHaveAllTypesThatLookUpNames() throws Exception {
        Set<String> words = WordList.read("path-words.txt");
        try (Connection connection = postgres.database(0).connect()) {
            // Roles and databases are in no schema.
            assertThat(words).containsAll(names(connection, """
                    SELECT typname FROM pg_type
                     WHERE typnamespace = 'pg_catalog'::regnamespace AND typname LIKE 'reg%' AND typname NOT IN ('regrole', 'regdatabase')
                    """));
            assertThat(names(connection, """
                    SELECT word FROM pg_get_keywords()
                     UNION SELECT proname FROM pg_proc WHERE pronamespace IN ('pg_catalog'::regnamespace, 'shardflake'::regnamespace)
                     UNION SELECT typname FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace
                    """)).containsAll(words);
        }
    }

    private static Set<String> wordsOf(int version, Map<String, String> marks) {
        Set<String> words = new TreeSet<>(marks.keySet());
        words.removeIf(
                word -> Integer.parseInt("0" + marks.getOrDefault(word, "").replaceAll("\\D", "")) > version);
        return words;
    }

    private static Map<String, String> marks(String file) throws Exception {
        Map<String, String> marks = new TreeMap<>();
        try (BufferedReader words = new BufferedReader(
                new InputStreamReader(WordList.class.getResourceAsStream(file), StandardCharsets.US_ASCII))) {
            for (String line = words.readLine(); line != null; line = words.readLine()) {
                String[] parts = line.split("#", 2);
                if (!parts[0].isBlank()) {
                    String mark = parts.length > 1 ? parts[1].strip() : "";
                    assertThat(marks.put(parts[0].strip(), mark)).as(line).isNull();
                    assertThat(WordList.read(file)).contains(parts[0].strip());
                }
            }
        }
        return marks;
    }

    private static Set<String> names(Connection connection, String sql) throws SQLException {
        Set<String> names = new TreeSet<>();
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            while (row.next()) {
                names.add(row.getString(1));
            }
        }
        return names;
    }
}
