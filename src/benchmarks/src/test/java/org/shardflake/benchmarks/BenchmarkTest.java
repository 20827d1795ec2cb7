/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.report.Report;

class BenchmarkTest {

    private static final Pattern NAMED = Pattern.compile("-Dbenchmark=(\\w+)");

    @Test
    void runsWhateverTheDocumentationNames() throws IOException {
        Path docs = Report.directory().resolve("..");
        Set<String> named = new TreeSet<>();
        try (Stream<Path> pages = Files.walk(docs)) {
            for (Path page : Stream.concat(
                            Stream.of(docs.resolve("../../README.md")),
                            pages.filter(file -> file.toString().endsWith(".md")))
                    .toList()) {
                Matcher matcher = NAMED.matcher(Files.readString(page));
                while (matcher.find()) {
                    named.add(matcher.group(1));
                }
            }
        }
        assertThat(named).isEqualTo(Benchmark.ALL.keySet());
    }

    @Test
    void saysWhichBenchmarksThereAre() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Benchmark.main(new String[] {"Fleet"}))
                .withMessageStartingWith("no benchmark Fleet, there are [Adoptions, Deploys, ");
    }
}
