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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
        assertThat(output.resolve("benchmarks/moves-size.svg")).exists();
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
        write("README.md", "# Start <here>\n[a](src/docs/guide/README.md#here) [b](LICENSE) [c](src)");
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

    private void write(String file, String text) throws IOException {
        Path path = sources.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }
}
