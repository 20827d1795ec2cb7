/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.website;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.NeededPrograms;

class SiteTest {

    private static final String REPOSITORY = "https://example.org/shardflake";

    @TempDir
    private Path output;

    @TempDir
    private Path sources;

    @Test
    void everyLinkOfTheDocumentsLeadsSomewhere() throws IOException {
        Site.write(Path.of("../..").toAbsolutePath().normalize(), output, REPOSITORY);

        assertThat(output.resolve("index.html")).content().contains("href=\"guide/quick-start.html\"");
        assertThat(output.resolve("guide/ids.html"))
                .content()
                .contains("<table>", "aria-current=\"page\"", "href=\"../reference/sql.html")
                .doesNotContain("<!-- not run");
        assertThat(output.resolve("benchmarks/moves-dump.svg")).exists();
        assertThat(output.resolve("search-data.js")).content().contains("guide/hazards.html#");
    }

    @Test
    void namesLinksThatLeadNowhere() throws IOException {
        write("README.md", "# Start\n[a](src/docs/guide/README.md#here) [b](nothing.txt) [c](src)");
        write("src/docs/guide/README.md", "# Guide\n## Here\n[d](#there) [e](../../../README.md#start) [f](page.md)");

        assertThatExceptionOfType(BrokenLinksException.class)
                .isThrownBy(() -> Site.write(sources, output, REPOSITORY))
                .withMessage("""
                        these links lead nowhere:
                        README.md: nothing.txt
                        src/docs/guide/README.md: #there
                        src/docs/guide/README.md: page.md""");
    }

    @Test
    void linksToSourcesLeadToTheRepository() throws IOException {
        write("README.md", "# Start \\<here>\n[a](src/docs/guide/README.md#here) [b](LICENSE) [c](src)");
        write("LICENSE", "");
        write("src/docs/guide/README.md", "# Guide\n## Here\n[d](../../../README.md)");

        Site.write(sources, output, REPOSITORY);

        assertThat(output.resolve("index.html"))
                .content()
                .contains(
                        "<title>Start &lt;here&gt; – Shardflake</title>",
                        "<a href=\"guide/index.html#here\">a</a>",
                        "<a href=\"https://example.org/shardflake/blob/main/LICENSE\">b</a>",
                        "<a href=\"https://example.org/shardflake/tree/main/src\">c</a>");
        assertThat(output.resolve("guide/index.html")).content().contains("<a href=\"../index.html\">d</a>");
    }

    @Test
    void aPageShowsItsGroupItsSectionsAndTheNextPage() throws IOException {
        write("README.md", "# Start");
        write(
                "src/docs/guide/README.md",
                "# Guide\nRows:\n\n- [a](ids.md)\n- [b](map.md)\n\nPeople:\n\n- [c](roles.md)");
        write("src/docs/guide/ids.md", "# Ids");
        write("src/docs/guide/map.md", "# Map\n## One `x`\n### Two\n#### Three");
        write("src/docs/guide/roles.md", "# Roles");

        Site.write(sources, output, REPOSITORY);

        assertThat(output.resolve("guide/map.html"))
                .content()
                .contains(
                        "<details open>\n<summary>Rows</summary>\n<ul>\n<li><a href=\"../guide/ids.html\">Ids</a></li>",
                        "<details>\n<summary>People</summary>",
                        "<li class=\"level2\"><a href=\"#one-x\">One x</a></li>\n<li class=\"level3\"><a href=\"#two\">Two</a></li>\n</ul>",
                        "<a rel=\"prev\" href=\"../guide/ids.html\"><small>Previous</small>Ids</a>",
                        "<a rel=\"next\" href=\"../guide/roles.html\"><small>Next</small>Roles</a>");
        assertThat(output.resolve("guide/ids.html")).content().doesNotContain("On this page");
    }

    @Test
    void everyPictureCanBeReadOnAPhoneInTheDarkAndAloud() throws IOException {
        Path docs = Path.of("../docs");
        for (Path picture : files(docs.resolve("pictures"), ".svg")) {
            String svg = Files.readString(picture);
            Matcher width = Pattern.compile("viewBox=\"0 0 ([0-9]+) ").matcher(svg);
            assertThat(width.find()).as("%s", picture).isTrue();
            Matcher font = Pattern.compile("font-size[=:] ?\"?([0-9]+)").matcher(svg);
            while (font.find()) {
                int onAPhone = 358 * Integer.parseInt(font.group(1)) / Integer.parseInt(width.group(1));
                assertThat(onAPhone).as("%s in %s", font.group(), picture).isGreaterThanOrEqualTo(9);
            }
            assertThat(svg)
                    .as("%s", picture)
                    .contains("<title>", "prefers-color-scheme: dark", "<rect class=\"back\"")
                    .doesNotContain("<script", "href=");
        }
        for (Path document : files(docs, ".md")) {
            assertThat(Files.readString(document)).as("%s", document).doesNotContain("![](", "```mermaid");
        }
    }

    private static List<Path> files(Path directory, String end) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(file -> file.toString().endsWith(end)).toList();
        }
    }

    @Test
    void everyPageLeadsToTheJavadoc() throws IOException {
        write("README.md", "# Start");
        write("src/docs/guide/README.md", "# Guide");
        write(
                "src/id/src/main/java/org/shardflake/Thing.java",
                "package org.shardflake; /** One. */ public class Thing {}");

        Site.write(sources, output, REPOSITORY);
        Site.writeJavadoc(sources, output, System.out, System.err);

        for (String page : List.of("index.html", "guide/index.html")) {
            Path first = linked(output.resolve(page), ".*/?javadoc/index\\.html");
            Path thing = linked(linked(first, "org/shardflake/package-summary\\.html"), "Thing\\.html");
            assertThat(thing).content().contains("One.");
        }
    }

    /** The file that a page has a link to. */
    private static Path linked(Path page, String pattern) throws IOException {
        Matcher link = Pattern.compile("href=\"(" + pattern + ")\"").matcher(Files.readString(page));
        assertThat(link.find()).as("%s in %s", pattern, page).isTrue();
        return page.resolveSibling(link.group(1)).normalize();
    }

    /** Types a word into the search of a page, in Chromium. */
    @Test
    void theSearchFindsSectionsOfOtherPages() throws Exception {
        Path chromium = Path.of("/usr/bin/chromium");
        NeededPrograms.assume(Files.isExecutable(chromium), "Chromium");
        Site.write(Path.of("../..").toAbsolutePath().normalize(), output, REPOSITORY);
        Path page = output.resolve("guide/ids.html");
        Files.writeString(page, Files.readString(page).replace("</body>", """
                <script>
                addEventListener("DOMContentLoaded", () => {
                  const input = document.getElementById("search");
                  const found = (text) => {
                    input.value = text;
                    input.dispatchEvent(new Event("input"));
                    return [...document.querySelectorAll("#found li")].map((entry) => entry.outerHTML).join("");
                  };
                  const list = ["half-way", "upgra", "SF001", "qqqq"].map((text) => `<p>${text}: ${found(text)}</p>`);
                  document.body.innerHTML = list.join("\\n");
                });
                </script>
                </body>"""));

        String dom = dom(chromium, page);

        assertThat(searched(dom, "half-way"))
                .contains(
                        "href=\"../guide/server-incidents.html#an-upgrade-stopped-half-way\"", "<mark>half-way</mark>");
        assertThat(searched(dom, "upgra"))
                .contains("href=\"../guide/server-incidents.html#an-upgrade-stopped-half-way\"");
        assertThat(searched(dom, "SF001")).contains("href=\"../guide/");
        assertThat(searched(dom, "qqqq")).contains("Nothing found").doesNotContain("href");
        Matcher links = Pattern.compile("href=\"([^\"#]+)#([^\"]+)\"").matcher(dom);
        while (links.find()) {
            assertThat(page.resolveSibling(links.group(1)).normalize())
                    .content()
                    .contains("id=\"%s\"".formatted(links.group(2)));
        }
    }

    private static String searched(String dom, String word) {
        return dom.lines()
                .filter(line -> line.contains("<p>" + word + ": "))
                .findFirst()
                .orElse("");
    }

    /** What the page's scripts make of it. */
    private String dom(Path chromium, Path page) throws IOException, InterruptedException {
        Path dom = sources.resolve("dom.html");
        Process process = new ProcessBuilder(
                        chromium.toString(),
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--user-data-dir=" + sources.resolve("profile"),
                        "--dump-dom",
                        page.toUri().toString())
                .redirectOutput(dom.toFile())
                .redirectError(sources.resolve("log").toFile())
                .start();
        assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
        return Files.readString(dom);
    }

    private void write(String file, String text) throws IOException {
        Path path = sources.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }
}
