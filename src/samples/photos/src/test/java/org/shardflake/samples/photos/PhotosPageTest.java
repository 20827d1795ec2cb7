/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.photos;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The chapter of the guide shows the code as it is. */
class PhotosPageTest {

    @Test
    void everyLineOfJavaOnThePageIsHere() throws IOException {
        StringBuilder here = new StringBuilder();
        try (Stream<Path> files = Files.walk(Path.of("src"))) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".java")).toList()) {
                here.append(Files.readString(file));
            }
        }
        List<String> blocks = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL)
                .matcher(Files.readString(Path.of("../../docs/guide/photos.md")))
                .results()
                .map(block -> block.group(1))
                .toList();

        assertThat(blocks).hasSize(8);
        blocks.forEach(block -> assertThat(withoutSpace(here.toString())).contains(withoutSpace(block)));
    }

    private static String withoutSpace(String text) {
        return text.replaceAll("\\s+", "");
    }
}
