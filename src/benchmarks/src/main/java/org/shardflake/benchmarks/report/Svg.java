/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.Locale;

/**
 * A picture under construction. Its colours follow the reader's light or dark setting; where that cannot be seen, it
 * stays dark on white, on a background of its own. No sizes are measured, so text is taken to be of average width.
 */
final class Svg {

    static final int WIDTH = 760;

    private static final double CHARACTER = 6.8;
    private static final String STYLE = """
            <style>
            .back { fill: #ffffff; stroke: #d1d9e0 } .text { fill: #1f2328 } .soft { fill: #59636e }
            .title { fill: #1f2328; font-size: 15px; font-weight: 600 }
            .grid { stroke: #d1d9e0 } .whisker { stroke: #1f2328; stroke-width: 1.5 } .plain { fill: #9aa4af }
            .ours { fill: #0969da }
            @media (prefers-color-scheme: dark) {
            .back { fill: #0d1117; stroke: #3d444d } .text, .title { fill: #f0f6fc } .soft { fill: #9198a1 }
            .grid { stroke: #3d444d } .whisker { stroke: #f0f6fc } .plain { fill: #656c76 }
            .ours { fill: #58a6ff }
            }
            </style>
            """;

    private final StringBuilder elements = new StringBuilder();
    private final String title;

    Svg(String title) {
        this.title = title;
    }

    /** Which side of its position a text is on. */
    enum Anchor {
        START,
        MIDDLE,
        END
    }

    void text(String type, Anchor anchor, double x, double y, String text) {
        add("<text class=\"%s\" text-anchor=\"%s\" x=\"%s\" y=\"%s\">%s</text>"
                .formatted(type, anchor.name().toLowerCase(Locale.ROOT), at(x), at(y), escape(text)));
    }

    void rectangle(String type, double x, double y, double width, double height) {
        add("<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>"
                .formatted(type, at(x), at(y), at(width), at(height)));
    }

    void line(String type, double x1, double y1, double x2, double y2) {
        add("<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>"
                .formatted(type, at(x1), at(y1), at(x2), at(y2)));
    }

    String finish(double height) {
        return """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1$d %2$s" width="%1$d" height="%2$s" role="img" \
                font-family="system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif" font-size="13">
                <title>%3$s</title>
                %4$s<rect class="back" x="0.5" y="0.5" width="%5$d" height="%6$s" rx="6"/>
                <text class="title" x="16" y="26">%3$s</text>
                %7$s</svg>
                """.formatted(WIDTH, at(height), escape(title), STYLE, WIDTH - 1, at(height - 1), elements);
    }

    private void add(String element) {
        elements.append(element).append('\n');
    }

    /** How wide a text is, about. */
    static double width(String text) {
        return text.length() * CHARACTER;
    }

    /** A length with one decimal place at most: finer ones are not to be seen. */
    private static String at(double length) {
        String text = String.format(Locale.ROOT, "%.1f", length);
        return text.endsWith(".0") ? text.substring(0, text.length() - 2) : text;
    }

    /** Text as XML; characters that XML cannot hold become question marks. */
    static String escape(String text) {
        StringBuilder escaped = new StringBuilder();
        text.codePoints().forEach(character -> {
            switch (character) {
                case '&' -> escaped.append("&amp;");
                case '<' -> escaped.append("&lt;");
                case '>' -> escaped.append("&gt;");
                case '"' -> escaped.append("&quot;");
                case '\'' -> escaped.append("&#39;");
                default -> escaped.appendCodePoint(isXml(character) ? character : '?');
            }
        });
        return escaped.toString();
    }

    private static boolean isXml(int character) {
        boolean control = character < ' ' && character != '\t' && character != '\n' && character != '\r';
        boolean loneSurrogate = character >= Character.MIN_SURROGATE && character <= Character.MAX_SURROGATE;
        return !control && !loneSurrogate && character != 0xFFFE && character != 0xFFFF;
    }
}
