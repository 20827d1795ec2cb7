/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.watch;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.function.Consumer;
import org.shardflake.watch.Watch;

/** Serves what a {@link Watch} sees to Prometheus, at {@code /metrics}. */
public final class Exporter implements AutoCloseable {

    /** Requests at a time; looks go one after the other all the same. */
    private static final int THREADS = 4;

    private final WebServer server;

    private Exporter(WebServer server) {
        this.server = server;
    }

    /**
     * Looks once, and begins to serve.
     *
     * @param watch who is asked; left open
     * @param top how many of the busiest and of the largest shards are told apart
     * @param told who hears of requests that failed
     * @throws IOException if it cannot listen at the address
     */
    public static Exporter start(InetSocketAddress address, Watch watch, int top, Consumer<String> told)
            throws IOException, InterruptedException {
        MetricsPage metrics = new MetricsPage(watch, top, told);
        metrics.prepare();
        return new Exporter(WebServer.start(address, THREADS, exchange -> {
            if (exchange.getRequestURI().getPath().equals(MetricsPage.PATH)) {
                metrics.handle(exchange);
            } else {
                WebServer.say(exchange, 404, "nothing but %s is here".formatted(MetricsPage.PATH));
            }
        }));
    }

    /** Where it listens. */
    public InetSocketAddress address() {
        return server.address();
    }

    /** Answers no more requests. */
    @Override
    public void close() {
        server.close();
    }
}
