/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.console.Changes.Answer;
import org.shardflake.cli.output.JsonWriter;
import org.shardflake.cli.watch.WebServer;

/** What the page sends to change something: the number of a command to try out, or of what was shown and the answer. */
final class ChangeRequests {

    static final String TRY = "/try";
    static final String RUN = "/run";

    private static final int MOST_BYTES = 256;

    private final @Nullable Changes changes;

    /**
     * @param changes null if the console only reads
     */
    ChangeRequests(@Nullable Changes changes) {
        this.changes = changes;
    }

    static boolean isFor(String path) {
        return path.equals(TRY) || path.equals(RUN);
    }

    void handle(HttpExchange exchange, String path) throws IOException {
        Optional<String> refusal = Door.refuseChange(exchange);
        if (changes == null) {
            WebServer.say(exchange, 403, "this console changes nothing; shardflake console --allow-changes does");
        } else if (!exchange.getRequestMethod().equals("POST")) {
            exchange.getResponseHeaders().set("Allow", "POST");
            WebServer.say(exchange, 405, "only POST is answered");
        } else if (refusal.isPresent()) {
            WebServer.say(exchange, 403, refusal.get());
        } else {
            answer(exchange, changes, path);
        }
    }

    private static void answer(HttpExchange exchange, Changes changes, String path) throws IOException {
        byte[] body = exchange.getRequestBody().readNBytes(MOST_BYTES + 1);
        if (body.length > MOST_BYTES) {
            WebServer.say(exchange, 413, "the body has more than %d bytes".formatted(MOST_BYTES));
            return;
        }
        List<String> lines = new String(body, UTF_8).lines().toList();
        String number = lines.isEmpty() ? "" : lines.get(0);
        Answer answer =
                path.equals(TRY) ? changes.tryOut(number) : changes.run(number, lines.size() > 1 ? lines.get(1) : "");
        WebServer.answer(
                exchange,
                answer.status(),
                "application/json",
                JsonWriter.write(answer.facts()).getBytes(UTF_8));
    }
}
