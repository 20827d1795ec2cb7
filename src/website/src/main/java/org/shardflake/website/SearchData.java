/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.website;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.UnaryOperator;

/** The search index with every section, written as a script, since pages opened from a disk cannot fetch files. */
final class SearchData {

    private SearchData() {}

    static String of(Collection<Document> documents, UnaryOperator<Path> page) {
        List<String> entries = new ArrayList<>();
        for (Document document : documents) {
            for (Document.Section section : document.sections()) {
                entries.add("{\"href\":%s,\"page\":%s,\"heading\":%s,\"text\":%s}"
                        .formatted(
                                quote(page.apply(document.file()) + "#" + section.anchor()),
                                quote(document.title()),
                                quote(section.heading()),
                                quote(section.text())));
            }
        }
        return "const SECTIONS = [\n" + String.join(",\n", entries) + "\n];\n";
    }

    private static String quote(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"', '\\' -> quoted.append('\\').append(c);
                case '\n' -> quoted.append("\\n");
                default -> {
                    if (c < ' ' || c == '\u2028' || c == '\u2029') {
                        quoted.append("\\u%04x".formatted((int) c));
                    } else {
                        quoted.append(c);
                    }
                }
            }
        }
        return quoted.append('"').toString();
    }
}
