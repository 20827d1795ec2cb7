/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;

class ReportTest {

    private static final String HOSTILE = "a < b & \"c\" 'd' ]]> \u0001 é | `e`";

    @Test
    void writesThePageAndItsChartsTopDown(@TempDir Path directory) throws Exception {
        new Report("Ids *and* more")
                .paragraph("Text with `code`.")
                .table(List.of("scheme", "µs"), List.of(List.of("a|b", "1\n2"), List.of("c", "3")))
                .chart("cost.svg", new BarChart("Cost", "µs").bar("ours", new Interval(1, 2, 3), true))
                .write(directory.resolve("new"), "ids");
        assertThat(Files.readString(directory.resolve("new/ids.md"))).isEqualTo("""
                # Ids \\*and\\* more

                Text with `code`.

                | scheme | µs |
                | --- | --- |
                | a\\|b | 1 2 |
                | c | 3 |

                ![Cost](cost.svg)
                """);
        assertThat(parse(Files.readString(directory.resolve("new/cost.svg")))
                        .getDocumentElement()
                        .getTagName())
                .isEqualTo("svg");
    }

    @Test
    void refusesWhatWouldBreakThePage() {
        Report report = new Report("x");
        assertThatThrownBy(() -> report.table(List.of("a", "b"), List.of(List.of("1"))))
                .hasMessage("[1] is not a row of [a, b]");
        assertThatThrownBy(() -> report.chart("../x.svg", new BarChart("", "")))
                .isInstanceOf(IllegalArgumentException.class);
        report.chart("x.svg", new BarChart("", ""));
        assertThatThrownBy(() -> report.chart("x.svg", new BarChart("", "")))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void escapesTextForMarkdown() {
        assertThat(Markdown.escape("Xeon(R) <b> a_b*c | `x`\n$y [z](u) \\"))
                .isEqualTo("Xeon(R) \\<b\\> a\\_b\\*c \\| \\`x\\` \\$y \\[z\\](u) \\\\");
        assertThat(Markdown.row(List.of("a|b", "c\\|d", "e\r\n f"))).isEqualTo("| a\\|b | c\\|d | e f |");
    }

    @Test
    void drawsBarsAsXmlWhateverTheirNames() throws Exception {
        BarChart chart = new BarChart(HOSTILE, HOSTILE)
                .bar(HOSTILE, new Interval(1, 2, 4), true)
                .bar("zero", new Interval(0, 0, 0), false);
        Document svg = parse(chart.toSvg());
        assertThat(svg.getElementsByTagName("title").item(0).getTextContent())
                .isEqualTo(HOSTILE.replace('\u0001', '?'));
        NodeList rectangles = svg.getElementsByTagName("rect");
        assertThat(rectangles.getLength()).isEqualTo(3); // the background too
        assertThat(attribute(rectangles, 1, "width")).isPositive();
        assertThat(attribute(rectangles, 2, "width")).isZero();
        assertThat(svg.getElementsByTagName("text").item(3).getTextContent()).isNotEmpty();
        assertThat(chart.toSvg()).isEqualTo(chart.toSvg()).doesNotContain("NaN");
    }

    @Test
    void drawsBarsToScale() throws Exception {
        NodeList rectangles = parse(new BarChart("", "")
                        .bar("a", new Interval(1, 1, 1), true)
                        .bar("b", new Interval(3, 3, 3), false)
                        .toSvg())
                .getElementsByTagName("rect");
        assertThat(attribute(rectangles, 2, "width") / attribute(rectangles, 1, "width"))
                .isBetween(2.99, 3.01);
    }

    @Test
    void drawsBarsByTheirLogarithms() throws Exception {
        NodeList rectangles = parse(new BarChart("", "")
                        .logarithmic()
                        .bar("a", new Interval(0, 0, 0), true)
                        .bar("b", new Interval(1, 1, 1), false)
                        .bar("c", new Interval(100, 100, 100), false)
                        .bar("d", new Interval(10_000, 10_000, 10_000), false)
                        .toSvg())
                .getElementsByTagName("rect");
        assertThat(attribute(rectangles, 1, "width")).isZero();
        assertThat(attribute(rectangles, 2, "width")).isZero();
        assertThat(attribute(rectangles, 4, "width") / attribute(rectangles, 3, "width"))
                .isBetween(1.99, 2.01);
    }

    @Test
    void refusesPointsThatHaveNoPlace() {
        assertThatThrownBy(() -> new BarChart("", "").bar("b", new Interval(-1, 0.5, 2), false))
                .hasMessage("b: 0.500 (-1 to 2) is not a range from zero up");
    }

    @Test
    void describesTheMachine() {
        assertThat(Machine.describe()).containsPattern("\\d+ cores, \\d+ GiB of memory, .+, Java \\d+ with");
    }

    private static double attribute(NodeList elements, int index, String name) {
        return Double.parseDouble(
                elements.item(index).getAttributes().getNamedItem(name).getTextContent());
    }

    private static Document parse(String xml) throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new ByteArrayInputStream(xml.getBytes(UTF_8)));
    }
}
