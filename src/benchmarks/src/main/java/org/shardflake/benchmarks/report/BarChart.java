/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.ArrayList;
import java.util.List;
import org.shardflake.benchmarks.report.Svg.Anchor;

/** Candidates one below the other, each with a bar from zero to its median and a line from its least to its greatest value. */
public final class BarChart {

    private static final double TOP = 62;
    private static final double ROW = 28;
    private static final double THICKNESS = 16;
    private static final double MARGIN = 16;

    private final String title;
    private final String unit;
    private final List<Bar> bars = new ArrayList<>();
    private boolean logarithmic;

    private record Bar(String label, Spread spread, boolean highlighted) {}

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
    public BarChart bar(String label, double min, double median, double max, boolean highlighted) {
        if (!(0 <= min && min <= median && median <= max && max < Double.POSITIVE_INFINITY)) {
            throw new IllegalArgumentException(
                    "%s: %s, %s and %s are not a range from zero up".formatted(label, min, median, max));
        }
        bars.add(new Bar(label, new Spread(min, median, max), highlighted));
        return this;
    }

    /** Adds a bar below the others. */
    public BarChart bar(String label, Spread spread, boolean highlighted) {
        return bar(label, spread.min(), spread.median(), spread.max(), highlighted);
    }

    /** Gives equal lengths to equal ratios, from 1 up: what is less has no bar. */
    public BarChart logarithmic() {
        logarithmic = true;
        return this;
    }

    /** What it shows, for those who cannot see it too. */
    String title() {
        return title;
    }

    /** The picture; the same figures give the same text. */
    String toSvg() {
        Svg svg = new Svg(title);
        svg.text("soft", Anchor.START, MARGIN, 46, unit);
        double left = MARGIN + 10 + widest(bars.stream().map(Bar::label).toList());
        double right = Svg.WIDTH
                - MARGIN
                - 10
                - widest(bars.stream().map(bar -> bar.spread().toString()).toList());
        double bottom = TOP + bars.size() * ROW;
        double most = bars.stream().mapToDouble(bar -> bar.spread().max()).max().orElse(1);
        Scale scale = logarithmic
                ? Scale.logarithmic(1, Math.max(10, most), left, right)
                : Scale.linear(0, most > 0 ? most : 1, left, right);
        for (double tick : scale.ticks()) {
            svg.line("grid", scale.at(tick), TOP - 4, scale.at(tick), bottom);
            svg.text("soft", Anchor.MIDDLE, scale.at(tick), bottom + 18, Figures.tick(tick));
        }
        for (int i = 0; i < bars.size(); i++) {
            draw(svg, scale, bars.get(i), TOP + i * ROW, left, right + 10);
        }
        return svg.finish(bottom + 32);
    }

    private void draw(Svg svg, Scale scale, Bar bar, double top, double left, double valueAt) {
        Spread spread = bar.spread();
        double middle = top + THICKNESS / 2;
        svg.text("text", Anchor.END, left - 10, middle + 5, bar.label());
        svg.rectangle(bar.highlighted() ? "ours" : "plain", left, top, at(scale, spread.median()) - left, THICKNESS);
        if (spread.min() < spread.max()) {
            svg.line("whisker", at(scale, spread.min()), middle, at(scale, spread.max()), middle);
            svg.line("whisker", at(scale, spread.min()), middle - 4, at(scale, spread.min()), middle + 4);
            svg.line("whisker", at(scale, spread.max()), middle - 4, at(scale, spread.max()), middle + 4);
        }
        svg.text("text", Anchor.START, valueAt, middle + 5, spread.toString());
    }

    private double at(Scale scale, double value) {
        return scale.at(logarithmic ? Math.max(1, value) : value);
    }

    private static double widest(List<String> texts) {
        return texts.stream().mapToDouble(Svg::width).max().orElse(0);
    }
}
