/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.console.Changes.Answer;
import org.shardflake.cli.output.JsonWriter;
import org.shardflake.cli.watch.WebServer;

/**
 * Handles the page's requests to change something: first a trial run of a command, then the user's answer to the question that it asked. To try
 * a command out may take longer than an answer in HTTP: the page is then given a ticket, and asks again with that.
 */
final class ChangeRequests implements AutoCloseable {

    static final String TRY = "/try";
    static final String RUN = "/run";
    static final String WAIT = "/wait";

    private static final int MOST_BYTES = 256;
    private static final int MOST_WAITING = 32;

    /** The time after which a request is answered with a ticket; shorter than the limit on an answer. */
    private static final Duration SOON = Duration.ofSeconds(10);

    private final @Nullable Changes changes;
    private final Map<String, Future<Answer>> waiting = new LinkedHashMap<>();
    private final ExecutorService threads = Executors.newFixedThreadPool(4, work -> {
        Thread thread = new Thread(work, "shardflake console: trial");
        thread.setDaemon(true);
        return thread;
    });

    /**
     * @param changes null if the console only reads
     */
    ChangeRequests(@Nullable Changes changes) {
        this.changes = changes;
    }

    static boolean isFor(String path) {
        return path.equals(TRY) || path.equals(RUN) || path.equals(WAIT);
    }

    void handle(HttpExchange exchange, String path) throws IOException {
        Optional<String> refusal = RequestGuard.refuseChange(exchange);
        if (changes == null) {
            WebServer.say(exchange, 403, "this console changes nothing; shardflake console --allow-changes does");
        } else if (!exchange.getRequestMethod().equals("POST")) {
            exchange.getResponseHeaders().set("Allow", "POST");
            WebServer.say(exchange, 405, "only POST is allowed");
        } else if (refusal.isPresent()) {
            WebServer.say(exchange, 403, refusal.get());
        } else {
            answer(exchange, changes, path);
        }
    }

    private void answer(HttpExchange exchange, Changes changes, String path) throws IOException {
        byte[] body = exchange.getRequestBody().readNBytes(MOST_BYTES + 1);
        if (body.length > MOST_BYTES) {
            WebServer.say(exchange, 413, "the body has more than %s bytes".formatted(MOST_BYTES));
            return;
        }
        List<String> lines = new String(body, UTF_8).lines().toList();
        String number = lines.isEmpty() ? "" : lines.get(0);
        Future<Answer> asked = switch (path) {
            case TRY -> threads.submit(() -> changes.tryOut(number));
            case RUN -> threads.submit(() -> changes.run(number, lines.size() > 1 ? lines.get(1) : ""));
            default -> take(number);
        };
        Answer answer = soon(asked);
        WebServer.answer(
                exchange,
                answer.status(),
                "application/json",
                JsonWriter.write(answer.facts()).getBytes(UTF_8));
    }

    private synchronized Future<Answer> take(String ticket) {
        Future<Answer> found = waiting.remove(ticket);
        return found != null
                ? found
                : CompletableFuture.completedFuture(
                        new Answer(403, Map.of("problem", "no request is pending under this number")));
    }

    /** The answer, or a ticket for it if it takes longer. */
    private Answer soon(Future<Answer> asked) {
        try {
            return asked.get(SOON.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return new Answer(200, Map.of("wait", keep(asked)));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // The console is ending.
            return new Answer(503, Map.of("problem", "the console is ending"));
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
    }

    /** Keeps an answer until it is fetched; the oldest answer is dropped, but its command still runs and reports to all pages. */
    private synchronized String keep(Future<Answer> asked) {
        String ticket = RunnableCommands.random();
        waiting.put(ticket, asked);
        if (waiting.size() > MOST_WAITING) {
            waiting.remove(waiting.keySet().iterator().next());
        }
        return ticket;
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
