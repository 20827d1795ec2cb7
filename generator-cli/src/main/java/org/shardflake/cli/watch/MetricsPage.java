/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.watch;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.ExpositionFormats;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.watch.InstallationSnapshot;
import org.shardflake.watch.Watch;

/** Serves the snapshots of a {@link Watch} in the formats of Prometheus. Each request is a look; one at a time. */
public final class MetricsPage implements HttpHandler {

    /** The path of the metrics. */
    public static final String PATH = "/metrics";

    private final Watch watch;
    private final Usage usage = new Usage();
    private final int top;
    private final Consumer<String> told;
    private final ExpositionFormats formats = ExpositionFormats.init();

    /**
     * @param watch who is asked; left open
     * @param top how many of the busiest and of the largest shards are told apart
     * @param told who hears of requests that failed
     */
    public MetricsPage(Watch watch, int top, Consumer<String> told) {
        this.watch = watch;
        this.top = top;
        this.told = told;
    }

    @Override
    public void handle(HttpExchange exchange) throws IOException {
        if (!WebServer.isRead(exchange)) {
            return;
        }
        try {
            metrics(exchange);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // The server is ending.
        } catch (RuntimeException e) {
            told.accept("a request failed: " + e);
            WebServer.say(exchange, 500, "the snapshot failed; the exporter's standard error says why");
        }
    }

    private void metrics(HttpExchange exchange) throws IOException, InterruptedException {
        ExpositionFormatWriter writer = writer(exchange.getRequestHeaders().getFirst("Accept"));
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        writer.write(text, look());
        WebServer.answer(exchange, 200, writer.getContentType(), text.toByteArray());
    }

    /** The writer for the preferred format of the client: a Prometheus with native histograms asks for protobuf first. */
    private ExpositionFormatWriter writer(@Nullable String accept) {
        ExpositionFormatWriter asked = formats.findWriter(accept);
        if (asked.isAvailable()) {
            return asked;
        }
        ExpositionFormatWriter open = formats.getOpenMetricsTextFormatWriter();
        return open.accepts(accept) ? open : formats.getPrometheusTextFormatWriter();
    }

    private synchronized MetricSnapshots look() throws InterruptedException {
        InstallationSnapshot snapshot = watch.look();
        usage.add(snapshot);
        return Metrics.of(snapshot, usage, top);
    }
}
