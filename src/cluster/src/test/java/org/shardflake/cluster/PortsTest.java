/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class PortsTest {

    /** So many of 17,000 that two picks without reservations have one in common for sure. */
    private static final int MANY = 2_000;

    /** Another process that picks ports, prints them, and keeps them until its input ends. */
    public static void main(String[] args) throws IOException {
        System.out.println(pick().stream().map(String::valueOf).collect(Collectors.joining(" ")));
        System.in.read();
    }

    @Test
    void noPortIsPickedTwiceWhileItsProcessRuns() throws IOException {
        Process other = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        PortsTest.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader output = other.inputReader(StandardCharsets.UTF_8)) {
            List<Integer> theirs = Arrays.stream(output.readLine().split(" "))
                    .map(Integer::valueOf)
                    .toList();
            List<Integer> ours = pick();

            assertThat(theirs).hasSize(MANY).doesNotHaveDuplicates();
            assertThat(ours).hasSize(MANY).doesNotHaveDuplicates().doesNotContainAnyElementsOf(theirs);
        } finally {
            other.destroy();
        }
    }

    private static List<Integer> pick() {
        return IntStream.range(0, MANY).mapToObj(i -> Ports.free()).toList();
    }
}
