/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The clock of a whole server, by <a href="https://github.com/wolfcw/libfaketime">libfaketime</a>: every program that is started
 * with it takes its time from what a file says.
 */
final class FakeTime implements TrialClock {

    private static final String LIBRARY = "libfaketime.so.1";
    private static final DateTimeFormatter FORMAT =
            DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss").withZone(ZoneOffset.UTC);

    private final Path library;
    private final Path directory;

    private FakeTime(Path library, Path directory) {
        this.library = library;
        this.directory = directory;
    }

    /** The library where -Dfaketime.library says, or where Debian's package and others put it, if it is there. */
    static Optional<FakeTime> find() {
        String chosen = System.getProperty("faketime.library");
        Stream<Path> places = chosen != null
                ? Stream.of(Path.of(chosen))
                : Stream.of("lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64", "lib", "local/lib")
                        .map(place -> Path.of("/usr", place, "faketime", LIBRARY));
        return places.filter(Files::isReadable).findFirst().map(FakeTime::of);
    }

    private static FakeTime of(Path library) {
        try {
            FakeTime time = new FakeTime(library, Files.createTempDirectory("shardflake-faketime-"));
            // The server may run as another user than we do.
            time.directory.toFile().setExecutable(true, false);
            time.directory.toFile().setReadable(true, false);
            time.mend();
            return time;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What a program needs in its environment to take its time from here. */
    Map<String, String> environment() {
        return Map.of(
                "LD_PRELOAD", library.toString(),
                "FAKETIME_TIMESTAMP_FILE", file().toString(),
                "FAKETIME_NO_CACHE", "1",
                "FAKETIME_DONT_FAKE_MONOTONIC", "1",
                "TZ", "UTC");
    }

    @Override
    public void stepBack(Duration by) {
        show("-" + by.toSeconds());
    }

    /** The library knows whole seconds, so the clock goes to the next one and stands there. */
    @Override
    public void stand() {
        show(FORMAT.format(Instant.now().truncatedTo(ChronoUnit.SECONDS).plusSeconds(1)));
    }

    @Override
    public void mend() {
        show("+0");
    }

    private Path file() {
        return directory.resolve("time");
    }

    /** At once: nobody reads half a line. */
    private void show(String time) {
        try {
            Path next = Files.writeString(directory.resolve("next"), time + "\n");
            Files.move(next, file(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            Files.deleteIfExists(file());
            Files.deleteIfExists(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
