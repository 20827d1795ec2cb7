/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.DoubleStream;
import org.shardflake.benchmarks.report.Svg.Anchor;

/** Series over a common axis. */
public final class LineChart implements Chart {

    private static final double LEFT = 78;
    private static final double RIGHT = Svg.WIDTH - 28;
    private static final double HEIGHT = 290;
    private static final double LEGEND = 48;
    private static final double LEGEND_ROW = 20;
    private static final int MOST_DOTS = 12;
    private static final List<String> DASHES = List.of("none", "7 3", "2 3");

    private final String title;
    private final String xLabel;
    private final String yLabel;
    private final boolean logX;
    private final boolean logY;
    private final List<Series> all = new ArrayList<>();

    private static final class Series {
        private final String name;
        private final double[] x;
        private final double[] y;

        Series(String name, double[] x, double[] y) {
            this.name = name;
            this.x = x;
            this.y = y;
        }
    }

    /** A chart without series; an axis is linear, or logarithmic where asked for. */
    public LineChart(String title, String xLabel, String yLabel, boolean logX, boolean logY) {
        this.title = title;
        this.xLabel = xLabel;
        this.yLabel = yLabel;
        this.logX = logX;
        this.logY = logY;
    }

    /**
     * Adds a line through these points.
     *
     * @throws IllegalArgumentException if there are no points, or one is not finite, or has no place on a logarithmic axis
     */
    public LineChart series(String name, double[] x, double[] y) {
        if (x.length != y.length || x.length == 0) {
            throw new IllegalArgumentException("%s has %d x and %d y".formatted(name, x.length, y.length));
        }
        check(name, x, logX);
        check(name, y, logY);
        all.add(new Series(name, x.clone(), y.clone()));
        return this;
    }

    private static void check(String name, double[] values, boolean logarithmic) {
        for (double value : values) {
            if (!Double.isFinite(value) || (logarithmic && value <= 0)) {
                throw new IllegalArgumentException("%s: %s has no place on the axis".formatted(name, value));
            }
        }
    }

    @Override
    public String title() {
        return title;
    }

    @Override
    public String toSvg() {
        Svg svg = new Svg(title);
        double top = LEGEND + legend(svg) + 4;
        double bottom = top + HEIGHT;
        Scale across = scale(logX, series -> series.x, LEFT, RIGHT);
        Scale up = scale(logY, series -> series.y, bottom, top);
        grid(svg, across, up, top, bottom);
        for (int i = 0; i < all.size(); i++) {
            draw(svg, across, up, i);
        }
        return svg.finish(bottom + 52);
    }

    /** Draws the names of the series in rows and returns how high they are. */
    private double legend(Svg svg) {
        double x = 16;
        double y = LEGEND;
        for (int i = 0; i < all.size(); i++) {
            double width = 34 + Svg.width(all.get(i).name);
            if (x > 16 && x + width > RIGHT) {
                x = 16;
                y += LEGEND_ROW;
            }
            svg.path("c" + colour(i), dashes(i), new double[] {x, x + 22}, new double[] {y - 4, y - 4});
            svg.text("text", Anchor.START, x + 28, y, all.get(i).name);
            x += width + 14;
        }
        return y - LEGEND + LEGEND_ROW;
    }

    /** Linear axes begin at zero, so that nobody sees more of a difference than there is. */
    private Scale scale(boolean logarithmic, Function<Series, double[]> values, double start, double end) {
        double[] sorted = all.stream()
                .flatMapToDouble(series -> Arrays.stream(values.apply(series)))
                .sorted()
                .toArray();
        double min = sorted.length == 0 ? 1 : sorted[0];
        double max = sorted.length == 0 ? 1 : sorted[sorted.length - 1];
        return logarithmic
                ? Scale.logarithmic(min, max, start, end)
                : Scale.linear(Math.min(0, min), Math.max(0, max), start, end);
    }

    private void grid(Svg svg, Scale across, Scale up, double top, double bottom) {
        for (double tick : across.ticks()) {
            svg.line("grid", across.at(tick), top, across.at(tick), bottom);
            svg.text("soft", Anchor.MIDDLE, across.at(tick), bottom + 18, Figures.tick(tick));
        }
        for (double tick : up.ticks()) {
            svg.line("grid", LEFT, up.at(tick), RIGHT, up.at(tick));
            svg.text("soft", Anchor.END, LEFT - 8, up.at(tick) + 4, Figures.tick(tick));
        }
        svg.text("text", Anchor.MIDDLE, (LEFT + RIGHT) / 2, bottom + 40, xLabel);
        svg.upwards("text", 20, (top + bottom) / 2, yLabel);
    }

    private void draw(Svg svg, Scale across, Scale up, int index) {
        Series series = all.get(index);
        double[] x = DoubleStream.of(series.x).map(across::at).toArray();
        double[] y = DoubleStream.of(series.y).map(up::at).toArray();
        svg.path("c" + colour(index), dashes(index), x, y);
        for (int i = 0; i < x.length && x.length <= MOST_DOTS; i++) {
            svg.dot("f" + colour(index), x[i], y[i]);
        }
    }

    private static int colour(int series) {
        return series % Svg.COLOURS;
    }

    private static String dashes(int series) {
        return DASHES.get(series % DASHES.size());
    }
}
