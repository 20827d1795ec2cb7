/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.shardflake.Server;
import org.shardflake.benchmarks.report.Rounds;

/** Time to the first row and heap of all candidates, each in processes of its own, which take turns. */
final class Starts {

    private static final List<String> FLAGS = List.of("-Xmx1g");

    private static final double MIB = 1 << 20;

    private final PhotoServers servers;
    private final Rounds millis = new Rounds();
    private final Rounds heap = new Rounds();
    private final Rounds heapOfAllShards = new Rounds();

    private record Outcome(List<Double> figures, String output) {}

    Starts(PhotoServers servers) {
        this.servers = servers;
    }

    /** The flags of the processes' Java. */
    static String flags() {
        return String.join(" ", FLAGS);
    }

    void measure(int rounds) throws IOException, InterruptedException {
        for (int round = 0; round < rounds; round++) {
            for (Candidate candidate : Rounds.order(List.of(Candidate.values()), round)) {
                Outcome outcome = start(candidate);
                if (outcome.figures().isEmpty()) {
                    throw new IllegalStateException(candidate.label() + " does not start: " + outcome.output());
                }
                millis.add(candidate.label(), outcome.figures().get(0));
                heap.add(candidate.label(), outcome.figures().get(1) / MIB);
                heapOfAllShards.add(candidate.label(), outcome.figures().get(2) / MIB);
            }
        }
    }

    /** Milliseconds to the first row. */
    Rounds millis() {
        return millis;
    }

    /** MiB in use after the first row. */
    Rounds heap() {
        return heap;
    }

    /** MiB in use after a row of each shard. */
    Rounds heapOfAllShards() {
        return heapOfAllShards;
    }

    private Outcome start(Candidate candidate) throws IOException, InterruptedException {
        Layout layout = servers.layout();
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(FLAGS);
        command.addAll(List.of("-cp", classPath(candidate), PeerStart.class.getName()));
        command.addAll(List.of(candidate.name(), String.valueOf(layout.shards()), String.valueOf(layout.poolSize())));
        layout.servers().stream().map(Server::url).forEach(command::add);
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().write(idsOfAllShards().getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        return new Outcome(
                output.lines()
                        .filter(line -> line.startsWith(PeerStart.RESULT))
                        .flatMap(line -> Arrays.stream(
                                line.substring(PeerStart.RESULT.length()).split(" ")))
                        .map(Double::valueOf)
                        .toList(),
                output);
    }

    /** One of each shard. */
    private String idsOfAllShards() {
        Map<Integer, Long> ids = new LinkedHashMap<>();
        servers.photos().forEach(photo -> ids.putIfAbsent(Layout.shardOfId(photo.id()), photo.id()));
        return ids.values().stream().map(String::valueOf).collect(Collectors.joining("\n"));
    }

    /** What the candidate needs of this program's own: Java looks for each class in one archive after the other. */
    private static String classPath(Candidate candidate) {
        return ownClassPath().filter(candidate::needs).collect(Collectors.joining(File.pathSeparator));
    }

    private static Stream<String> ownClassPath() {
        // Maven has loaded this class by a class loader of its own.
        if (Starts.class.getClassLoader() instanceof URLClassLoader loader) {
            return Arrays.stream(loader.getURLs()).map(URL::getPath);
        }
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1));
    }
}
