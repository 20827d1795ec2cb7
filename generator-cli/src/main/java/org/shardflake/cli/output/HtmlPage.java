/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.shardflake.cli.error.FileFailure;
import org.shardflake.yaml.TextFile;

/** A self-contained HTML page: a template whose script draws the facts. */
public final class HtmlPage {

    private HtmlPage() {}

    /**
     * Puts facts into a template.
     *
     * @param owner the class in whose package the template is
     * @param facts in place of {@code @FACTS@}, as JSON
     */
    public static String of(Class<?> owner, String template, Map<String, Object> facts) {
        // The only thing in JSON that could end a script.
        String json = JsonWriter.write(facts).replace("</", "<\\/");
        try (InputStream stream = Objects.requireNonNull(owner.getResourceAsStream(template))) {
            return new String(stream.readAllBytes(), UTF_8).replace("@FACTS@", json);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes a page to a file that the user named. */
    public static void write(Path file, String page) {
        try {
            TextFile.write(page, "a page", file);
        } catch (IOException e) {
            throw FileFailure.explain("write", file.toString(), e);
        }
    }
}
