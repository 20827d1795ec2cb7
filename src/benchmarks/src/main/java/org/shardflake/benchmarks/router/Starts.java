/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.shardflake.Server;
import org.shardflake.benchmarks.report.Rounds;

/** Time to the first row and heap of all candidates, each in separate processes that take turns. */
final class Starts {

    /** The flag of the processes' Java. */
    static final String FLAG = "-Xmx1g";

    private static final double MIB = 1 << 20;

    private final PhotoServers servers;
    /** Milliseconds to the first row. */
    final Rounds millis = new Rounds();
    /** MiB in use after the first row. */
    final Rounds heap = new Rounds();
    /** MiB in use after a row of each shard. */
    final Rounds heapOfAllShards = new Rounds();

    Starts(PhotoServers servers) {
        this.servers = servers;
    }

    void measure(int rounds) throws IOException, InterruptedException {
        for (int round = 0; round < rounds; round++) {
            for (RouterCandidate candidate : Rounds.order(List.of(RouterCandidate.values()), round)) {
                List<Double> figures = start(candidate);
                millis.add(candidate.label(), figures.get(0));
                heap.add(candidate.label(), figures.get(1) / MIB);
                heapOfAllShards.add(candidate.label(), figures.get(2) / MIB);
            }
        }
    }

    /** The figures that {@link PeerStart} prints. */
    private List<Double> start(RouterCandidate candidate) throws IOException, InterruptedException {
        Layout layout = servers.layout();
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                FLAG,
                "-cp",
                classPath(candidate),
                PeerStart.class.getName(),
                candidate.name(),
                String.valueOf(layout.shards()),
                String.valueOf(layout.poolSize())));
        layout.servers().stream().map(Server::url).forEach(command::add);
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().write(idsOfAllShards().getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        String result = output.lines()
                .filter(line -> line.startsWith(PeerStart.RESULT))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(candidate.label() + " does not start: " + output));
        return Arrays.stream(result.substring(PeerStart.RESULT.length()).split(" "))
                .map(Double::valueOf)
                .toList();
    }

    /** One of each shard. */
    private String idsOfAllShards() {
        Map<Integer, Long> ids = new LinkedHashMap<>();
        servers.photos().forEach(photo -> ids.putIfAbsent(Layout.shardOfId(photo.id()), photo.id()));
        return ids.values().stream().map(String::valueOf).collect(Collectors.joining("\n"));
    }

    /** The part of this program's class path that the candidate needs: Java searches the jars for each class in order. */
    private static String classPath(RouterCandidate candidate) {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .filter(candidate::needs)
                .collect(Collectors.joining(File.pathSeparator));
    }
}
