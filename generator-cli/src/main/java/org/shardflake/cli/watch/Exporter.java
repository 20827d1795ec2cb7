/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.watch;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.function.Consumer;
import org.shardflake.watch.Watch;

/** Serves the metrics of a {@link Watch} to Prometheus, at {@code /metrics}. */
public final class Exporter implements AutoCloseable {

    /** The number of concurrent requests; more would not help, since snapshots are taken one after another. */
    private static final int THREADS = 4;

    /** The number of scrapes before serving, since even the second one is slower than later ones. */
    private static final int OWN_SCRAPES = 2;

    private final WebServer server;

    private Exporter(WebServer server) {
        this.server = server;
    }

    /**
     * Starts to serve after it has scraped itself, so that the first scrape by others finds open connections and loaded classes.
     *
     * @param watch who is asked; left open
     * @param top how many of the busiest and of the largest shards are told apart
     * @param told who hears of requests that failed
     * @throws IOException if it cannot listen at the address
     */
    public static Exporter start(InetSocketAddress address, Watch watch, int top, Consumer<String> told)
            throws IOException {
        MetricsPage metrics = new MetricsPage(watch, top, told);
        Exporter exporter = new Exporter(WebServer.start(address, THREADS, exchange -> {
            if (exchange.getRequestURI().getPath().equals(MetricsPage.PATH)) {
                metrics.handle(exchange);
            } else {
                WebServer.say(exchange, 404, "only %s is served here".formatted(MetricsPage.PATH));
            }
        }));
        for (int scrape = 0; scrape < OWN_SCRAPES; scrape++) {
            exporter.scrape();
        }
        return exporter;
    }

    private void scrape() {
        InetAddress bound = address().getAddress();
        InetAddress own = bound.isAnyLocalAddress() ? InetAddress.getLoopbackAddress() : bound;
        try (Socket socket = new Socket(own, address().getPort())) {
            socket.getOutputStream()
                    .write("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                            .formatted(MetricsPage.PATH)
                            .getBytes(US_ASCII));
            socket.getInputStream().transferTo(OutputStream.nullOutputStream());
        } catch (IOException e) {
            // Then the first one takes longer.
        }
    }

    /** The address that the exporter listens on. */
    public InetSocketAddress address() {
        return server.address();
    }

    /** Stops answering requests. */
    @Override
    public void close() {
        server.close();
    }
}
