/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import org.shardflake.assess.Assessment;
import org.shardflake.cli.output.JsonWriter;

/** An assessment as a self-contained HTML page. */
final class AssessPage {

    private AssessPage() {}

    static String of(Assessment assessment) {
        // The only thing in JSON that could end a script.
        String json = JsonWriter.write(AssessView.facts(assessment)).replace("</", "<\\/");
        try (InputStream template = AssessPage.class.getResourceAsStream("assess.html")) {
            return new String(Objects.requireNonNull(template).readAllBytes(), UTF_8).replace("@FACTS@", json);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
