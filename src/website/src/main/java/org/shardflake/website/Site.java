/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.website;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The guide as static pages that need no server, with a search in the browser. */
public final class Site {

    private static final String NAME = "Shardflake";
    private static final Path DOCS = Path.of("src/docs");
    private static final Path GUIDE = DOCS.resolve("guide/README.md");

    /** The source directories of public types, by module. */
    private static final List<String> JAVADOC_SOURCES =
            List.of("src/id", "shard-router", "src/operations", "sql").stream()
                    .map(module -> module + "/src/main/java")
                    .toList();

    private final Path root;
    private final Path output;
    private final String repository;
    private final Map<Path, Document> documents = new LinkedHashMap<>();

    private Site(Path root, Path output, String repository) {
        this.root = root;
        this.output = output;
        this.repository = repository;
    }

    /** Writes the site; the arguments are the root of the sources, the directory to write to, and the URL of the repository. */
    public static void main(String[] args) throws IOException {
        Path root = Path.of(args[0]).toAbsolutePath().normalize();
        Path output = Path.of(args[1]).toAbsolutePath();
        write(root, output, args[2]);
        writeJavadoc(root, output, System.out, System.err);
        System.out.println("Open " + output.resolve("index.html").toUri());
    }

    /**
     * Writes the pages.
     *
     * @throws BrokenLinksException if a document links to something that is not there
     */
    static void write(Path root, Path output, String repository) throws IOException {
        Site site = new Site(root, output, repository);
        site.read();
        site.check();
        site.write();
    }

    private void read() throws IOException {
        add(Path.of("README.md"));
        // In the order in which the guide lists them.
        Document guide = add(GUIDE);
        for (Path page : guide.linkedFiles()) {
            if (isDocument(page) && Files.exists(root.resolve(page))) {
                add(page);
            }
        }
        try (Stream<Path> files = Files.walk(root.resolve(DOCS))) {
            for (Path file : files.sorted().toList()) {
                Path relative = root.relativize(file);
                if (isDocument(relative)) {
                    add(relative);
                }
            }
        }
    }

    private Document add(Path file) throws IOException {
        Document known = documents.get(file);
        if (known == null) {
            known = Document.read(root, file);
            documents.put(file, known);
        }
        return known;
    }

    private static boolean isDocument(Path file) {
        return file.startsWith(DOCS) && file.toString().endsWith(".md");
    }

    private void check() {
        List<String> broken = new ArrayList<>();
        for (Document document : documents.values()) {
            for (Link link : document.links()) {
                if (isBroken(link)) {
                    broken.add(document.file() + ": " + link.text());
                }
            }
        }
        if (!broken.isEmpty()) {
            throw new BrokenLinksException(broken);
        }
    }

    private boolean isBroken(Link link) {
        Document target = documents.get(link.file());
        if (target == null || link.anchor().isEmpty()) {
            return !Files.exists(root.resolve(link.file()));
        }
        return !target.anchors().contains(link.anchor());
    }

    private void write() throws IOException {
        String template = resource("page.html");
        Document guide = Objects.requireNonNull(documents.get(GUIDE));
        Navigation navigation = new Navigation(documents, guide, DOCS);
        for (Document document : documents.values()) {
            Path page = output.resolve(page(document.file()));
            Files.createDirectories(Objects.requireNonNull(page.getParent()));
            Files.writeString(page, page(template, navigation, document));
            for (Path image : document.images()) {
                Path copy = output.resolve(page(image));
                Files.createDirectories(Objects.requireNonNull(copy.getParent()));
                Files.copy(root.resolve(image), copy, StandardCopyOption.REPLACE_EXISTING);
            }
        }
        for (String name : List.of("site.css", "pages.js", "search.js")) {
            Files.writeString(output.resolve(name), resource(name));
        }
        try (InputStream lunr = resourceStream("/META-INF/resources/webjars/lunr/2.3.9/lunr.min.js")) {
            Files.copy(lunr, output.resolve("lunr.js"), StandardCopyOption.REPLACE_EXISTING);
        }
        Files.writeString(output.resolve("search-data.js"), SearchData.of(documents.values(), Site::page));
    }

    private String page(String template, Navigation navigation, Document document) {
        Path page = page(document.file());
        String up = "../".repeat(page.getNameCount() - 1);
        String title = document.title();
        Function<Document, String> href = other -> up + page(other.file());
        return template.replace("{{title}}", Html.escape(title.equals(NAME) ? title : title + " – " + NAME))
                .replace("{{up}}", up)
                .replace("{{navigation}}", navigation.pages(document, href))
                .replace("{{contents}}", Navigation.contents(document))
                .replace("{{neighbours}}", navigation.neighbours(document, href))
                .replace("{{source}}", repository + "/blob/main/" + document.file())
                .replace("{{content}}", document.html(link -> href(link, up)));
    }

    private String href(Link link, String up) {
        String anchor = link.anchor().isEmpty() ? "" : "#" + link.anchor();
        if (documents.containsKey(link.file()) || link.isImage()) {
            return up + page(link.file()) + anchor;
        }
        String kind = Files.isDirectory(root.resolve(link.file())) ? "/tree/main/" : "/blob/main/";
        return repository + kind + link.file() + anchor;
    }

    /** The path of a file on the site: {@code src/docs/guide/ids.md} becomes {@code guide/ids.html}. */
    static Path page(Path file) {
        Path below = file.startsWith(DOCS) ? DOCS.relativize(file) : file;
        String name = below.getFileName().toString().replaceFirst("^README\\.md$", "index.md");
        return below.resolveSibling(name.replaceFirst("\\.md$", ".html"));
    }

    /** Writes the Javadoc of the public types, which every page of the site links to. */
    static void writeJavadoc(Path root, Path output, PrintStream out, PrintStream err) {
        String sources = JAVADOC_SOURCES.stream()
                .map(source -> root.resolve(source).toString())
                .collect(Collectors.joining(System.getProperty("path.separator")));
        int exitCode = ToolProvider.findFirst("javadoc")
                .orElseThrow(() -> new IllegalStateException("no javadoc: it needs a JDK"))
                .run(
                        out,
                        err,
                        "-quiet",
                        "-encoding",
                        "UTF-8",
                        "-Xdoclint:all,-missing",
                        "-doctitle",
                        NAME,
                        "-windowtitle",
                        NAME,
                        "-classpath",
                        System.getProperty("java.class.path"),
                        "-sourcepath",
                        sources,
                        "-subpackages",
                        "org.shardflake",
                        "-d",
                        output.resolve("javadoc").toString());
        if (exitCode != 0) {
            throw new IllegalStateException("javadoc failed with exit code " + exitCode);
        }
    }

    private static String resource(String name) throws IOException {
        try (InputStream in = resourceStream("/website/" + name)) {
            return new String(in.readAllBytes(), UTF_8);
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private static InputStream resourceStream(String name) {
        return Objects.requireNonNull(Site.class.getResourceAsStream(name), name);
    }
}
