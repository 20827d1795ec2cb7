/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.website;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** The pages in groups, in reading order. The groups of the guide are those of its first page. */
final class Navigation {

    /** The pages below one heading. */
    private record Group(String title, List<Document> pages) {}

    private final List<Document> order = new ArrayList<>();
    private final List<Group> groups = new ArrayList<>();
    private final Document guide;

    /**
     * @param guide the first page of the guide
     * @param docs the directory of the documents
     */
    Navigation(Map<Path, Document> documents, Document guide, Path docs) {
        this.guide = guide;
        order.add(guide);
        guide.lists()
                .forEach((title, files) -> add(
                        title,
                        files.stream()
                                .filter(documents::containsKey)
                                .map(documents::get)
                                .toList()));
        Collection<Document> all = documents.values();
        add("More of the guide", below(all, docs.resolve("guide")::equals));
        add("Reference", below(all, docs.resolve("reference")::equals));
        add("Benchmarks", below(all, docs.resolve("benchmarks")::equals));
        add("Project", below(all, docs::equals));
        add("Decisions", below(all, docs.resolve("decisions")::equals));
    }

    /** The pages of a directory, with its index first. */
    private static List<Document> below(Collection<Document> all, Predicate<Path> directory) {
        return all.stream()
                .filter(document -> directory.test(document.file().getParent()))
                .sorted((one, other) -> Boolean.compare(!one.isIndex(), !other.isIndex()))
                .toList();
    }

    private void add(String title, List<Document> pages) {
        List<Document> added =
                pages.stream().filter(page -> !order.contains(page)).distinct().toList();
        if (!added.isEmpty()) {
            groups.add(new Group(title, added));
            order.addAll(added);
        }
    }

    /** The list of all pages, with the group of the current one open. */
    String pages(Document current, Function<Document, String> href) {
        boolean isListed = order.contains(current) && !current.equals(guide);
        StringBuilder html = new StringBuilder("<ul>%s</ul>\n".formatted(entry(guide, current, href)));
        for (Group group : groups) {
            boolean isOpen = isListed ? group.pages().contains(current) : group.equals(groups.get(0));
            html.append("<details%s>\n<summary>%s</summary>\n<ul>\n"
                    .formatted(isOpen ? " open" : "", Html.escape(group.title())));
            group.pages()
                    .forEach(page -> html.append(entry(page, current, href)).append('\n'));
            html.append("</ul>\n</details>\n");
        }
        return html.toString();
    }

    private static String entry(Document page, Document current, Function<Document, String> href) {
        return "<li><a href=\"%s\"%s>%s</a></li>"
                .formatted(
                        href.apply(page), page == current ? " aria-current=\"page\"" : "", Html.escape(page.title()));
    }

    /** Links to the pages before and after the current one. */
    String neighbours(Document current, Function<Document, String> href) {
        int at = order.indexOf(current);
        String before = at < 1 ? "" : neighbour("prev", "Previous", order.get(at - 1), href);
        String after = at + 1 == order.size() ? "" : neighbour("next", "Next", order.get(at + 1), href);
        return before + after;
    }

    private static String neighbour(String relation, String what, Document page, Function<Document, String> href) {
        return "<a rel=\"%s\" href=\"%s\"><small>%s</small>%s</a>\n"
                .formatted(relation, href.apply(page), what, Html.escape(page.title()));
    }

    /** The table of contents of a page, if it has several sections. */
    static String contents(Document document) {
        List<Document.Section> sections = document.sections().stream()
                .filter(section -> section.level() == 2 || section.level() == 3)
                .toList();
        return sections.size() < 2
                ? ""
                : sections.stream()
                        .map(section -> "<li class=\"level%s\"><a href=\"#%s\">%s</a></li>"
                                .formatted(section.level(), section.anchor(), Html.escape(section.heading())))
                        .collect(Collectors.joining(
                                "\n",
                                "<details class=\"contents\" open>\n<summary>On this page</summary>\n<nav aria-label=\"On this page\">\n<ul>\n",
                                "\n</ul>\n</nav>\n</details>\n"));
    }
}
