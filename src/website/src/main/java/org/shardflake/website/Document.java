/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.website;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
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
import org.commonmark.node.Node;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;
import org.commonmark.renderer.text.TextContentRenderer;

/** A Markdown file. */
final class Document {

    private static final List<Extension> EXTENSIONS =
            List.of(TablesExtension.create(), HeadingAnchorExtension.create());

    private static final Parser PARSER = Parser.builder().extensions(EXTENSIONS).build();
    private static final TextContentRenderer TEXT =
            TextContentRenderer.builder().extensions(EXTENSIONS).build();

    /** A heading and the text below it, as far as the next heading. */
    record Section(String heading, String anchor, String text) {}

    private final Path file;
    private final String markdown;
    private final List<Section> sections = new ArrayList<>();
    private final List<Link> links = new ArrayList<>();

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
        String heading = "";
        String anchor = "";
        StringBuilder text = new StringBuilder();
        for (Node block = node.getFirstChild(); block != null; block = block.getNext()) {
            if (block instanceof Heading) {
                sections.add(new Section(heading, anchor, text.toString()));
                heading = TEXT.render(block);
                anchor = anchors.generateId(heading);
                text.setLength(0);
            } else if (!(block instanceof HtmlBlock)) {
                text.append(TEXT.render(block)).append('\n');
            }
        }
        sections.add(new Section(heading, anchor, text.toString()));
        sections.remove(0);
    }

    Path file() {
        return file;
    }

    /** The first heading. */
    String title() {
        return sections.isEmpty() ? file.toString() : sections.get(0).heading();
    }

    List<Section> sections() {
        return sections;
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
