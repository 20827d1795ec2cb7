/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.watch;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.shardflake.cli.command.option.AddressConverter;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.watch.Exporter;
import org.shardflake.watch.Watch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake exporter}: metrics for Prometheus. */
@Command(
        name = "exporter",
        description = {
            "Serves metrics of servers, shards and moves to Prometheus, until Ctrl-C. Changes nothing.",
            "Each scrape runs one query on every server, and skips servers that do not answer within seconds."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "1:the catalog cannot be reached at the start, or failed",
            "2:the command line is wrong",
            "4:there is no catalog, or the address is taken",
            "130:ended with Ctrl-C"
        },
        footer = {"", "Example: shardflake exporter --listen localhost:9718"})
public final class ExporterCommand implements Callable<Integer> {

    private static final int MOST_SHARDS = 8192;

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--listen",
            paramLabel = "HOST:PORT",
            defaultValue = "localhost:9718",
            converter = AddressConverter.class,
            description = "Where to listen; port 0 takes any that is free (default: ${DEFAULT-VALUE}).")
    private InetSocketAddress address;

    @Option(
            names = "--top",
            paramLabel = "N",
            defaultValue = "20",
            description =
                    "Number of the busiest shards, and of the largest, that get their own metrics (default: ${DEFAULT-VALUE}).")
    private int top;

    @Mixin
    private CatalogMixin catalog;

    @Override
    public Integer call() throws InterruptedException {
        if (top < 0 || top > MOST_SHARDS) {
            throw CliException.usage("--top is %s, allowed: 0 to %s".formatted(top, MOST_SHARDS));
        }
        try (Watch watch = new Watch(catalog.url(), catalog::urlOf, catalog::parse, catalog::warn);
                Exporter exporter = start(watch)) {
            PrintWriter out = spec.commandLine().getOut();
            out.println("metrics are at http://%s/metrics"
                    .formatted(AddressConverter.text(address, exporter.address().getPort())));
            out.flush();
            if (!exporter.address().getAddress().isLoopbackAddress()) {
                catalog.warn("anyone who reaches this address can read them: there is no TLS and no password");
            }
            new CountDownLatch(1).await();
        }
        return ExitCodes.OK;
    }

    private Exporter start(Watch watch) {
        try {
            return Exporter.start(address, watch, top, catalog::warn);
        } catch (IOException e) {
            throw AddressConverter.taken(address, e);
        }
    }
}
