/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.guide;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A page of the guide and the commands on it, in their order.
 *
 * <p>Code that begins with {@code $} is commands with what they print. What is in a comment {@code <!-- run: ... -->} is run too and not
 * seen by readers: it makes the state that the page speaks of. {@code <!-- not run: reason -->} goes before code that is not run.
 */
final class GuidePage {

    /** Also in the items of a list. */
    private static final Pattern INDENTED = Pattern.compile("( {4,7})\\$ ");

    private static final Pattern COMMENT = Pattern.compile("<!-- (run|not run): ?(.*?)(-->)?", Pattern.DOTALL);

    /**
     * A command.
     *
     * @param section the heading above it, of the second level
     * @param firstLine where its output begins on the page, counted from 0
     * @param output as the page shows it, without indentation
     * @param indentation of the command and its output
     * @param hidden whether readers do not see it
     */
    record Step(
            String section, String command, int firstLine, List<String> output, String indentation, boolean hidden) {}

    private final Path file;
    private final List<String> lines;
    private final List<Step> steps = new ArrayList<>();
    private final List<String> notRun = new ArrayList<>();
    private String section = "";

    private GuidePage(Path file, List<String> lines) {
        this.file = file;
        this.lines = lines;
    }

    static GuidePage read(Path file) throws IOException {
        GuidePage page = new GuidePage(file, Files.readAllLines(file));
        page.parse();
        return page;
    }

    /** The page with the commands of some sections only. */
    GuidePage part(Predicate<String> sections) {
        GuidePage part = new GuidePage(file, lines);
        steps.stream().filter(step -> sections.test(step.section())).forEach(part.steps::add);
        return part;
    }

    Path file() {
        return file;
    }

    List<Step> steps() {
        return steps;
    }

    /** Commands that are not run, with the reason. */
    List<String> notRun() {
        return notRun;
    }

    /** The code in a language between fences, in the page's order. */
    List<String> blocks(String language) {
        List<String> blocks = new ArrayList<>();
        Matcher block = Pattern.compile("(?ms)^```" + language + "\n(.*?)^```$").matcher(String.join("\n", lines));
        while (block.find()) {
            blocks.add(block.group(1));
        }
        return blocks;
    }

    private void parse() {
        String reason = "";
        int i = 0;
        while (i < lines.size()) {
            String line = lines.get(i);
            Matcher comment = COMMENT.matcher(line.stripLeading());
            Matcher indented = INDENTED.matcher(line);
            if (comment.matches()) {
                int end = i;
                while (!lines.get(end).endsWith("-->")) {
                    end++;
                }
                if (comment.group(1).equals("run")) {
                    addHidden(i, end);
                } else {
                    reason = comment.group(2).replace("-->", "").strip();
                }
                i = end + 1;
            } else if (indented.lookingAt()) {
                i = code(i, indented.group(1), reason);
                reason = "";
            } else if (line.equals("```console")) {
                i = code(i + 1, "", reason);
                reason = "";
            } else {
                section = line.startsWith("## ") ? line.substring("## ".length()) : section;
                i++;
            }
        }
    }

    private void addHidden(int first, int last) {
        String text = String.join("\n", lines.subList(first, last + 1));
        String commands = text.substring("<!-- run:".length(), text.length() - "-->".length());
        for (String command : commands.strip().split("\n", -1)) {
            steps.add(new Step(section, command.strip(), first, List.of(), "", true));
        }
    }

    /** Reads a piece of code. Returns the line after it. */
    private int code(int first, String indentation, String reason) {
        int end = first;
        while (end < lines.size() && isCode(lines.get(end), indentation)) {
            end++;
        }
        while (lines.get(end - 1).isBlank()) {
            end--;
        }
        int i = first;
        while (i < end) {
            String command = lines.get(i).substring(indentation.length() + 2);
            int begin = ++i;
            while (i < end && !lines.get(i).startsWith(indentation + "$ ")) {
                i++;
            }
            int last = i;
            while (last > begin && lines.get(last - 1).isBlank()) {
                last--;
            }
            List<String> output = lines.subList(begin, last).stream()
                    .map(line -> line.isBlank() ? "" : line.substring(indentation.length()))
                    .toList();
            if (reason.isEmpty()) {
                steps.add(new Step(section, command, begin, output, indentation, false));
            } else {
                notRun.add(command + ": " + reason);
            }
        }
        return end;
    }

    private static boolean isCode(String line, String indentation) {
        return indentation.isEmpty() ? !line.equals("```") : line.isBlank() || line.startsWith(indentation);
    }

    /** The page with what the commands printed this time. */
    List<String> with(List<List<String>> outputs) {
        List<String> updated = new ArrayList<>(lines);
        for (int i = steps.size() - 1; i >= 0; i--) {
            Step step = steps.get(i);
            if (!step.hidden()) {
                updated.subList(
                                step.firstLine(),
                                step.firstLine() + step.output().size())
                        .clear();
                List<String> printed = new ArrayList<>(outputs.get(i).stream()
                        .map(line -> line.isBlank() ? "" : step.indentation() + line)
                        .toList());
                if (!step.output().isEmpty()
                        && step.output().get(step.output().size() - 1).isBlank()) {
                    printed.add("");
                }
                updated.addAll(step.firstLine(), printed);
            }
        }
        return updated;
    }
}
