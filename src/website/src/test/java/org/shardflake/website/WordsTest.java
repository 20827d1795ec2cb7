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
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
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
    private static final List<String> GENERATED =
            List.of("reference/commands.md", "reference/errors.md", "reference/java.md");

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

    private record Word(String text, Pattern pattern, String better, int documents, int sources) {

        static Word parse(String line) {
            String[] parts = line.split(" *; *", -1);
            return new Word(
                    parts[0],
                    Pattern.compile("\\b(?:" + spaced(parts[0]) + ")\\b"),
                    parts[1],
                    Integer.parseInt(parts[2]),
                    Integer.parseInt(parts[3]));
        }

        /** Words may be on two lines, also of a comment. */
        static String spaced(String text) {
            return text.replace(" ", "\\s+(?:\\*\\s+|--\\s+)?");
        }

        @Override
        public String toString() {
            return "%s; %s; %d; %d".formatted(text, better, documents, sources);
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
        List<String> lines = Files.readAllLines(WORDS);
        List<Word> words = lines.stream()
                .filter(line -> !line.startsWith("#"))
                .map(Word::parse)
                .toList();
        Map<Word, List<String>> written = new HashMap<>();
        Map<Word, List<String>> coded = new HashMap<>();
        Pattern any = Pattern.compile(words.stream()
                .map(word -> Word.spaced(word.text()))
                .collect(Collectors.joining("|", "\\b(?:", ")\\b")));
        for (Path file : files()) {
            String name = file.toString();
            String text = Files.readString(ROOT.resolve(file)).toLowerCase(Locale.ROOT);
            if (name.endsWith(".md")) {
                count(new Text(file, left(CODE, text)), any, words, written);
            } else {
                count(new Text(file, kept(name.endsWith(".sql") ? SQL : JAVA, text)), any, words, coded);
            }
        }

        List<String> errors = new ArrayList<>();
        List<String> lowered = new ArrayList<>(
                lines.stream().filter(line -> line.startsWith("#")).toList());
        for (Word word : words) {
            List<String> inDocuments = written.getOrDefault(word, List.of());
            List<String> inSources = coded.getOrDefault(word, List.of());
            check(errors, word, "documents", inDocuments, word.documents());
            check(errors, word, "comments and strings of sources", inSources, word.sources());
            lowered.add(new Word(
                            word.text(),
                            word.pattern(),
                            word.better(),
                            Math.min(inDocuments.size(), word.documents()),
                            Math.min(inSources.size(), word.sources()))
                    .toString());
        }
        if (Boolean.getBoolean("words.update")) {
            Files.write(WORDS, lowered);
        }
        assertThat(errors).as("see %s", WORDS).isEmpty();
    }

    @Test
    void noPageOfTheGuideHasMoreThan2500Words() throws IOException {
        try (Stream<Path> pages = Files.list(ROOT.resolve("src/docs/guide"))) {
            assertThat(pages.filter(page -> page.toString().endsWith(".md")))
                    .hasSizeGreaterThan(20)
                    .allSatisfy(page -> assertThat(Files.readString(page).split("\\s+", -1))
                            .as("%s: a page is a how-to; figures belong to the benchmarks", page.getFileName())
                            .hasSizeLessThanOrEqualTo(2500));
        }
    }

    private static void count(Text text, Pattern any, List<Word> words, Map<Word, List<String>> places) {
        Matcher found = any.matcher(text.text());
        while (found.find()) {
            for (Word word : words) {
                Matcher here = word.pattern()
                        .matcher(text.text())
                        .region(found.start(), found.end())
                        .useTransparentBounds(true);
                if (here.matches()) {
                    places.computeIfAbsent(word, key -> new ArrayList<>())
                            .add("%s:%d: %s"
                                    .formatted(
                                            text.file(),
                                            text.line(found.start()),
                                            found.group().replaceAll("\\s+", " ")));
                }
            }
        }
    }

    private static void check(List<String> errors, Word word, String where, List<String> found, int allowed) {
        if (found.size() > allowed) {
            errors.add("\"%s\" (better: %s) is %d times in %s, allowed are %d:\n  %s"
                    .formatted(word.text(), word.better(), found.size(), where, allowed, String.join("\n  ", found)));
        }
    }

    private static List<Path> files() throws IOException {
        List<Path> roots = new ArrayList<>(List.of(Path.of("README.md"), Path.of(".github"), Path.of("src/docs")));
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
        String name = file.toString();
        if (name.endsWith(".md")) {
            return !name.contains("/decisions/")
                    && !name.contains("/benchmarks/")
                    && GENERATED.stream().noneMatch(name::endsWith);
        }
        return name.endsWith(".java") || name.endsWith(".sql");
    }

    /** What a pattern finds, each line of the text at its place. */
    private static String kept(Pattern pattern, String text) {
        StringBuilder result = new StringBuilder();
        Matcher found = pattern.matcher(text);
        int end = 0;
        while (found.find()) {
            result.append(lines(text, end, found.start())).append(text, found.start(), found.end());
            end = found.end();
        }
        return result.toString();
    }

    /** A text without what a pattern finds, each line at its place. */
    private static String left(Pattern pattern, String text) {
        return pattern.matcher(text).replaceAll(found -> lines(text, found.start(), found.end()));
    }

    private static String lines(String text, int from, int to) {
        return " "
                + "\n".repeat((int)
                        text.substring(from, to).chars().filter(c -> c == '\n').count());
    }
}
