/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The table of the guide says what the schemes say of themselves. */
class SchemeGuideTest {

    private static final Path GUIDE = Path.of("../docs/guide/schemes.md");

    @Test
    void tableAgreesWithTheSchemes() throws IOException {
        List<String> rows = Files.readAllLines(GUIDE).stream()
                .filter(line -> line.startsWith("| [`"))
                .toList();

        assertThat(rows)
                .containsExactlyElementsOf(Schemes.all().stream()
                        .map(scheme -> row(scheme.description()))
                        .toList());
    }

    @Test
    void everySchemeHasASectionThatNamesItsSource() throws IOException {
        String guide = Files.readString(GUIDE);

        for (Scheme scheme : Schemes.all()) {
            String section = guide.replaceFirst("(?s).*\n### " + scheme.name() + "\n", "")
                    .replaceFirst("(?s)\n### .*", "");
            assertThat(section).as(scheme.name()).hasSizeLessThan(guide.length() / 2);
            assertThat(section).contains(scheme.description().source().replaceFirst(".*/guide/", ""));
        }
    }

    private static String row(SchemeDescription scheme) {
        return "| [`%1$s`](#%1$s) | %2$s | %3$s | %4$s | %5$s | %6$s | %7$s | %8$s |"
                .formatted(
                        scheme.name(),
                        scheme.bits(),
                        yesNo(scheme.timeOrdered()),
                        yesNo(scheme.shardInside()),
                        yesNo(scheme.nodeIds()),
                        yesNo(scheme.coordinator()),
                        yesNo(scheme.networkCall()),
                        scheme.clockStep());
    }

    private static String yesNo(boolean yes) {
        return yes ? "yes" : "no";
    }
}
