/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.website;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Counts stiff words in documents and sources.
 *
 * <p>{@code words.txt} has the words, what to write in their place, and how many there may be. Lower a number when the count has fallen;
 * {@code -Dwords.update} does that.
 */
class WordsTest {

    private static final Path ROOT = Path.of("../..").toAbsolutePath().normalize();

    private static final Path WORDS = Path.of("src/test/resources/words.txt");

    /** Made from the sources, and not written by hand. */
    private static final List<String> GENERATED = List.of("reference/commands.md", "reference/java.md");

    /** Comments and strings of Java, with text blocks, in one pass, since each may contain the other's marks. */
    private static final Pattern JAVA = Pattern.compile(
            "/\\*(?:[^*]|\\*(?!/))*+\\*/|//[^\n]*|\"\"\"(?:[^\"\\\\]|\\\\.|\"(?!\"\"))*+\"\"\"|\"(?:[^\"\\\\\n]|\\\\.)*+\"|'(?:[^'\\\\\n]|\\\\.)++'",
            Pattern.DOTALL);

    /** Comments and strings of SQL. */
    private static final Pattern SQL =
            Pattern.compile("/\\*(?:[^*]|\\*(?!/))*+\\*/|--[^\n]*|'(?:[^'])*+'", Pattern.DOTALL);

    /** Code in a document, comments, which tests run, links, and the table that a benchmark writes. */
    private static final Pattern CODE = Pattern.compile(
            "(?ms)<!-- benchmarks -->.*?<!-- end of benchmarks -->|^ *```.*?^ *```$|<!--.*?-->|^(?: {4}|\t)(?! *(?:[-*]|\\d+\\.) ).*?$|`[^`]*`|\\]\\([^)]*\\)");

    private record Word(String pattern, String better, int documents, int sources) {

        static Word parse(String line) {
            String[] parts = line.split(" *; *", -1);
            return new Word(parts[0], parts[1], Integer.parseInt(parts[2]), Integer.parseInt(parts[3]));
        }

        List<String> in(List<Text> texts) {
            Pattern word = Pattern.compile(
                    "\\b(?:" + pattern.replace(" ", "\\s+(?:\\*\\s+|--\\s+)?") + ")\\b", Pattern.CASE_INSENSITIVE);
            return texts.stream()
                    .flatMap(text -> word.matcher(text.text())
                            .results()
                            .map(found -> "%s:%d: %s"
                                    .formatted(
                                            text.file(),
                                            text.line(found.start()),
                                            found.group().replaceAll("\\s+", " "))))
                    .toList();
        }
    }

    /** What people read in a file; all else is blank. */
    private record Text(Path file, String text) {

        long line(int position) {
            return text.substring(0, position).chars().filter(c -> c == '\n').count() + 1;
        }
    }

    @Test
    void noMoreStiffWordsThanThereWere() throws IOException {
        List<Text> documents = new ArrayList<>();
        List<Text> sources = new ArrayList<>();
        for (Path file : files()) {
            String name = file.toString();
            String text = Files.readString(ROOT.resolve(file));
            if (name.endsWith(".md")) {
                documents.add(new Text(file, CODE.matcher(text).replaceAll(found -> blank(found.group()))));
            } else {
                sources.add(new Text(file, kept(name.endsWith(".sql") ? SQL : JAVA, text)));
            }
        }

        List<String> errors = new ArrayList<>();
        List<String> lowered = new ArrayList<>();
        for (String line : Files.readAllLines(WORDS)) {
            if (line.isEmpty() || line.startsWith("#")) {
                lowered.add(line);
                continue;
            }
            Word word = Word.parse(line);
            List<String> written = word.in(documents);
            List<String> coded = word.in(sources);
            check(errors, word, "documents", written, word.documents());
            check(errors, word, "comments and strings of sources", coded, word.sources());
            lowered.add("%s; %s; %d; %d"
                    .formatted(
                            word.pattern(),
                            word.better(),
                            Math.min(written.size(), word.documents()),
                            Math.min(coded.size(), word.sources())));
        }
        if (Boolean.getBoolean("words.update")) {
            Files.write(WORDS, lowered);
        }
        assertThat(errors).as("see %s", WORDS).isEmpty();
    }

    private static void check(List<String> errors, Word word, String where, List<String> found, int allowed) {
        if (found.size() > allowed) {
            errors.add("\"%s\" (better: %s) is %d times in %s, allowed are %d:\n  %s"
                    .formatted(
                            word.pattern(), word.better(), found.size(), where, allowed, String.join("\n  ", found)));
        }
    }

    private static List<Path> files() throws IOException {
        List<Path> roots = new ArrayList<>(List.of(Path.of("README.md"), Path.of("src/docs")));
        for (String module : ModulesTest.modules()) {
            roots.add(Path.of(module, "src/main"));
        }
        List<Path> files = new ArrayList<>();
        for (Path root : roots) {
            if (Files.exists(ROOT.resolve(root))) {
                try (Stream<Path> found = Files.walk(ROOT.resolve(root))) {
                    found.map(ROOT::relativize)
                            .filter(WordsTest::isRead)
                            .sorted()
                            .forEach(files::add);
                }
            }
        }
        return files;
    }

    private static boolean isRead(Path file) {
        String name = file.toString().toLowerCase(Locale.ROOT);
        return name.endsWith(".java")
                || name.endsWith(".sql")
                || name.endsWith(".md")
                        && !name.contains("/decisions/")
                        && !name.contains("/benchmarks/")
                        && GENERATED.stream().noneMatch(name::endsWith);
    }

    private static String kept(Pattern pattern, String text) {
        StringBuilder result = new StringBuilder(blank(text));
        pattern.matcher(text).results().forEach(found -> result.replace(found.start(), found.end(), found.group()));
        return result.toString();
    }

    private static String blank(String text) {
        return text.chars().mapToObj(c -> c == '\n' ? "\n" : " ").collect(Collectors.joining());
    }
}
