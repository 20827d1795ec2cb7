/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.website;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.ext.heading.anchor.HeadingAnchorExtension;
import org.commonmark.ext.heading.anchor.IdGenerator;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Heading;
import org.commonmark.node.HtmlBlock;
import org.commonmark.node.Image;
import org.commonmark.node.ListBlock;
import org.commonmark.node.Node;
import org.commonmark.node.Paragraph;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;

/** A Markdown file. */
final class Document {

    private static final List<Extension> EXTENSIONS =
            List.of(TablesExtension.create(), HeadingAnchorExtension.create());

    private static final Parser PARSER = Parser.builder().extensions(EXTENSIONS).build();

    /** A heading and the text below it, as far as the next heading. */
    record Section(int level, String heading, String anchor, String text) {}

    private final Path file;
    private final String markdown;
    private final List<Section> sections = new ArrayList<>();
    private final List<Link> links = new ArrayList<>();
    private final Map<String, List<Path>> lists = new LinkedHashMap<>();

    private Document(Path file, String markdown) {
        this.file = file;
        this.markdown = markdown;
    }

    /** Reads a file, given relative to the root. */
    static Document read(Path root, Path file) throws IOException {
        Document document = new Document(file, Files.readString(root.resolve(file)));
        Node node = PARSER.parse(document.markdown);
        document.readLinks(node);
        document.readSections(node);
        document.readLists(node);
        return document;
    }

    private void readLinks(Node node) {
        node.accept(new AbstractVisitor() {
            @Override
            public void visit(org.commonmark.node.Link link) {
                add(link.getDestination(), false);
                visitChildren(link);
            }

            @Override
            public void visit(Image image) {
                add(image.getDestination(), true);
            }

            private void add(String destination, boolean isImage) {
                if (!Link.isExternal(destination)) {
                    links.add(Link.of(file, destination, isImage));
                }
            }
        });
    }

    private void readSections(Node node) {
        IdGenerator anchors = IdGenerator.builder().build();
        int level = 0;
        String heading = "";
        String anchor = "";
        StringBuilder text = new StringBuilder();
        for (Node block = node.getFirstChild(); block != null; block = block.getNext()) {
            if (block instanceof Heading next) {
                sections.add(new Section(level, heading, anchor, text.toString()));
                level = next.getLevel();
                heading = PlainText.of(block);
                anchor = anchors.generateId(heading);
                text.setLength(0);
            } else {
                text.append(PlainText.of(block)).append(' ');
            }
        }
        sections.add(new Section(level, heading, anchor, text.toString()));
        sections.remove(0);
    }

    private void readLists(Node node) {
        for (Node block = node.getFirstChild(); block != null; block = block.getNext()) {
            if (block instanceof ListBlock && block.getPrevious() instanceof Paragraph label) {
                String title = PlainText.of(label);
                if (title.endsWith(":")) {
                    lists.put(title.substring(0, title.length() - 1), linkedFrom(block));
                }
            }
        }
    }

    private List<Path> linkedFrom(Node node) {
        List<Path> files = new ArrayList<>();
        node.accept(new AbstractVisitor() {
            @Override
            public void visit(org.commonmark.node.Link link) {
                if (!Link.isExternal(link.getDestination())) {
                    files.add(Link.of(file, link.getDestination(), false).file());
                }
            }
        });
        return files;
    }

    Path file() {
        return file;
    }

    /** The first heading. */
    String title() {
        return sections.isEmpty() ? file.toString() : sections.get(0).heading();
    }

    /** Whether the document is the first page of its directory. */
    boolean isIndex() {
        return file.endsWith("README.md");
    }

    List<Section> sections() {
        return sections;
    }

    /** The files that lists link to, by the paragraph before each list if that ends with a colon. */
    Map<String, List<Path>> lists() {
        return lists;
    }

    Set<String> anchors() {
        Set<String> anchors = new LinkedHashSet<>();
        sections.forEach(section -> anchors.add(section.anchor()));
        return anchors;
    }

    /** Links and images within the repository. */
    List<Link> links() {
        return links;
    }

    List<Path> linkedFiles() {
        return links.stream().map(Link::file).toList();
    }

    List<Path> images() {
        return links.stream().filter(Link::isImage).map(Link::file).toList();
    }

    /** The document as HTML. */
    String html(Function<Link, String> href) {
        Node node = PARSER.parse(markdown);
        node.accept(new AbstractVisitor() {
            @Override
            public void visit(org.commonmark.node.Link link) {
                link.setDestination(rewritten(link.getDestination(), false));
                visitChildren(link);
            }

            @Override
            public void visit(Image image) {
                image.setDestination(rewritten(image.getDestination(), true));
                if (!(image.getParent() instanceof org.commonmark.node.Link)) {
                    linkToItself(image);
                }
            }

            /** Makes a picture a link to itself, as it is small on a phone. */
            private void linkToItself(Image image) {
                Node link = new org.commonmark.node.Link(image.getDestination(), null);
                image.insertBefore(link);
                link.appendChild(image);
            }

            @Override
            public void visit(HtmlBlock html) {
                html.unlink(); // Comments for tests.
            }

            private String rewritten(String destination, boolean isImage) {
                return Link.isExternal(destination) ? destination : href.apply(Link.of(file, destination, isImage));
            }
        });
        return HtmlRenderer.builder().extensions(EXTENSIONS).build().render(node);
    }
}
