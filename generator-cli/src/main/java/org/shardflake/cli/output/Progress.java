/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.io.Console;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import me.tongfei.progressbar.ProgressState;
import org.jspecify.annotations.Nullable;

/** The progress of work: a bar on a terminal, otherwise a line every few seconds. Thread-safe. */
public final class Progress implements AutoCloseable {

    private static final long NANOS_BETWEEN_LINES = TimeUnit.SECONDS.toNanos(5);
    private static final int BAR_WIDTH = 78;
    private static final long KIB = 1 << 10;
    private static final long MIB = 1 << 20;

    /** The smallest amount, in bytes, that is shown in MiB. */
    private static final long MANY = 10 * MIB;

    /** The smallest part of the work from which the rest can be estimated. */
    private static final double LEAST_PART = 0.05;

    /** The smallest part of bytes from which the rest can be estimated, larger because the last bytes take longest. */
    private static final double LEAST_PART_OF_BYTES = 0.2;

    private final PrintWriter err;
    private final String task;
    private final long total;
    private final @Nullable ProgressBar bar;
    private volatile double leastPart;
    private volatile boolean isQuiet;
    private final long begun = System.nanoTime();
    private final AtomicLong done = new AtomicLong();
    private final AtomicLong nextLine = new AtomicLong(System.nanoTime() + NANOS_BETWEEN_LINES);

    /** Creates the progress of tasks, one after another. */
    @FunctionalInterface
    public interface Factory {
        Progress start(String task, long total);
    }

    private static volatile boolean isForPages;

    private Progress(PrintWriter err, String task, long total, double leastPart, @Nullable ProgressBarBuilder bar) {
        this.err = err;
        this.task = task;
        this.total = total;
        this.leastPart = leastPart;
        this.bar = bar == null ? null : bar.setEtaFunction(this::timeLeft).build();
    }

    /** Progress in lines on {@code err}, or as a bar if stderr is a terminal. */
    public static Factory on(PrintWriter err, boolean terminal) {
        return (task, total) -> new Progress(err, task, total, LEAST_PART, terminal ? bar(task, total) : null);
    }

    /** Progress as a bar if stderr is a terminal, or otherwise in lines, with none if the work ends before the first is due. */
    static Progress quietly(PrintWriter err, String task, long total) {
        Progress progress = new Progress(err, task, total, LEAST_PART, isTerminal() ? bar(task, total) : null);
        progress.isQuiet = true;
        return progress;
    }

    /**
     * Progress in bytes, with a bar in MiB (KiB for small amounts) if stderr is a terminal. What is left is told once a fifth is done, or at
     * the {@link #known first part} that is.
     */
    public static Progress ofBytes(PrintWriter err, String task, long bytes) {
        ProgressBarBuilder bar = null;
        if (isTerminal()) {
            bar = bytes < MANY
                    ? bar(task, bytes).setUnit(" KiB", KIB)
                    : bar(task, bytes).setUnit(" MiB", MIB);
        }
        return new Progress(err, task, bytes, LEAST_PART_OF_BYTES, bar);
    }

    /** Makes commands of this process show neither progress bars nor questions, since they run on behalf of a page. */
    public static void leaveTerminal() {
        isForPages = true;
    }

    /** Whether a bar can be drawn on stderr. */
    public static boolean isTerminal() {
        return !isForPages && !"dumb".equals(System.getenv("TERM")) && hasTerminal();
    }

    /** Whether there is a terminal; before JDK 22 only a terminal had a console, while later the console has to be asked. */
    @SuppressWarnings("SystemConsoleNull")
    private static boolean hasTerminal() {
        Console console = System.console();
        try {
            return console != null
                    && (boolean) Console.class.getMethod("isTerminal").invoke(console);
        } catch (NoSuchMethodException e) {
            return true;
        } catch (ReflectiveOperationException e) {
            return false;
        }
    }

    private static ProgressBarBuilder bar(String task, long total) {
        return new ProgressBarBuilder()
                .setTaskName(task)
                .setInitialMax(total)
                .setStyle(ProgressBarStyle.ASCII)
                .setUpdateIntervalMillis(100)
                .showSpeed()
                .setConsumer(new ConsoleProgressBarConsumer(System.err, BAR_WIDTH));
    }

    /** Takes the pace so far as typical of the rest, unless hardly anything is done. */
    public void known() {
        leastPart = LEAST_PART;
    }

    private Optional<Duration> timeLeft(ProgressState state) {
        double part = state.getNormalizedProgress();
        return part < leastPart || part == 0
                ? Optional.empty()
                : Optional.of(
                        Duration.ofMillis((long) (state.getElapsedAfterStart().toMillis() * (1 - part) / part)));
    }

    /** Adds completed work. */
    public void advance(long more) {
        long now = done.addAndGet(more);
        if (bar != null) {
            bar.stepBy(more);
            return;
        }
        long due = nextLine.get();
        if (now > 0
                && System.nanoTime() - due >= 0
                && nextLine.compareAndSet(due, System.nanoTime() + NANOS_BETWEEN_LINES)) {
            isQuiet = false;
            err.printf("%s: %,d of %,d%s%n", task, now, total, pace(now));
        }
    }

    /** The rate and the remaining time, once enough is done to estimate them. */
    private String pace(long now) {
        if (now < total * leastPart) {
            return "";
        }
        double seconds = (System.nanoTime() - begun) / 1e9;
        double rate = now / seconds;
        return String.format(
                Locale.ROOT,
                ", %s/s, about %,d s left",
                rate < 10
                        ? String.format(Locale.ROOT, "%.1f", rate)
                        : String.format(Locale.ROOT, "%,d", Math.round(rate)),
                Math.round((total - now) / rate));
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
        } else if (!isQuiet) {
            err.printf("%s: %,d of %,d%n", task, done.get(), total);
        }
    }
}
