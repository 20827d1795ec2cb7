/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Candidates one below the other, each with a bar from zero to its median, a line from its least to its greatest value, and its
 * figures. Its colours follow the reader's light or dark setting. No text is measured, so it is taken to be of average width.
 */
public final class BarChart {

    private static final int WIDTH = 760;
    private static final double TOP = 62;
    private static final double ROW = 28;
    private static final double THICKNESS = 16;
    private static final double MARGIN = 16;
    private static final double CHARACTER = 6.8;
    private static final String STYLE = """
            <style>
            .back { fill: #ffffff; stroke: #d1d9e0 } .text { fill: #1f2328 } .soft { fill: #59636e }
            .title { fill: #1f2328; font-size: 15px; font-weight: 600 }
            .whisker { stroke: #1f2328; stroke-width: 1.5 } .plain { fill: #9aa4af } .ours { fill: #0969da }
            @media (prefers-color-scheme: dark) {
            .back { fill: #0d1117; stroke: #3d444d } .text, .title { fill: #f0f6fc } .soft { fill: #9198a1 }
            .whisker { stroke: #f0f6fc } .plain { fill: #656c76 } .ours { fill: #58a6ff }
            }
            </style>
            """;

    private final String title;
    private final String unit;
    private final List<Bar> bars = new ArrayList<>();
    private final StringBuilder elements = new StringBuilder();
    private boolean logarithmic;

    private record Bar(String label, Interval spread, boolean highlighted) {}

    /**
     * A chart without bars.
     *
     * @param unit of the figures, and whether more or less is better
     */
    public BarChart(String title, String unit) {
        this.title = title;
        this.unit = unit;
    }

    /**
     * Adds a bar below the others.
     *
     * @throws IllegalArgumentException if a figure is negative or not a number
     */
    public BarChart bar(String label, Interval spread, boolean highlighted) {
        if (!(0 <= spread.min() && spread.max() < Double.POSITIVE_INFINITY)) {
            throw new IllegalArgumentException("%s: %s is not a range from zero up".formatted(label, spread));
        }
        bars.add(new Bar(label, spread, highlighted));
        return this;
    }

    /** Gives equal lengths to equal ratios, from 1 up: what is less has no bar. */
    public BarChart logarithmic() {
        logarithmic = true;
        return this;
    }

    /** A description of the chart for screen readers. */
    String title() {
        return title;
    }

    /** The picture; the same figures give the same text. */
    String toSvg() {
        elements.setLength(0);
        double left = MARGIN + 10 + widest(bars.stream().map(Bar::label).toList());
        double right = WIDTH
                - MARGIN
                - 10
                - widest(bars.stream().map(bar -> bar.spread().toString()).toList());
        double most = bars.stream().mapToDouble(bar -> bar.spread().max()).max().orElse(1);
        text("soft", "start", MARGIN, 46, logarithmic ? unit + ", logarithmic" : unit);
        for (int i = 0; i < bars.size(); i++) {
            draw(bars.get(i), TOP + i * ROW, left, right, most);
        }
        double height = TOP + bars.size() * ROW + 8;
        return """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1$d %2$s" width="%1$d" height="%2$s" role="img" \
                font-family="system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif" font-size="13">
                <title>%3$s</title>
                %4$s<rect class="back" x="0.5" y="0.5" width="%5$d" height="%6$s" rx="6"/>
                <text class="title" x="16" y="26">%3$s</text>
                %7$s</svg>
                """.formatted(WIDTH, at(height), escape(title), STYLE, WIDTH - 1, at(height - 1), elements);
    }

    private void draw(Bar bar, double top, double left, double right, double most) {
        Interval spread = bar.spread();
        double middle = top + THICKNESS / 2;
        double least = left + (right - left) * part(spread.min(), most);
        double greatest = left + (right - left) * part(spread.max(), most);
        text("text", "end", left - 10, middle + 5, bar.label());
        elements.append("<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>%n"
                .formatted(
                        bar.highlighted() ? "ours" : "plain",
                        at(left),
                        at(top),
                        at((right - left) * part(spread.median(), most)),
                        at(THICKNESS)));
        if (spread.min() < spread.max()) {
            line(least, middle, greatest, middle);
            line(least, middle - 4, least, middle + 4);
            line(greatest, middle - 4, greatest, middle + 4);
        }
        text("text", "start", right + 10, middle + 5, spread.toString());
    }

    private double part(double value, double most) {
        if (logarithmic) {
            return Math.log(Math.max(1, value)) / Math.log(Math.max(10, most));
        }
        return most > 0 ? value / most : 0;
    }

    private void line(double x1, double y1, double x2, double y2) {
        elements.append("<line class=\"whisker\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>%n"
                .formatted(at(x1), at(y1), at(x2), at(y2)));
    }

    private void text(String type, String anchor, double x, double y, String text) {
        elements.append("<text class=\"%s\" text-anchor=\"%s\" x=\"%s\" y=\"%s\">%s</text>%n"
                .formatted(type, anchor, at(x), at(y), escape(text)));
    }

    private static double widest(List<String> texts) {
        return texts.stream()
                .mapToDouble(text -> text.length() * CHARACTER)
                .max()
                .orElse(0);
    }

    /** A length with one decimal place: finer ones are not to be seen. */
    private static String at(double length) {
        return String.format(Locale.ROOT, "%.1f", length);
    }

    private static String escape(String text) {
        return text.replaceAll("\\p{Cntrl}", "?")
                .replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;");
    }
}
