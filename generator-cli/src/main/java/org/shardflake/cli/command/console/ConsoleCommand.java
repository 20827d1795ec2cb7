/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.console;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.shardflake.PublicIds;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.option.AddressConverter;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.IdKeyMixin;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.console.Console;
import org.shardflake.cli.console.Operator;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Progress;
import org.shardflake.watch.Watch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake console}: a page for operators. */
@Command(
        name = "console",
        description = {
            "Serves a page for operators, until Ctrl-C: alerts, moves in progress, servers and shards, a search for"
                    + " a uid or an id, the history. Shows which command to run; changes nothing unless allowed to.",
            "With --allow-changes, commands that the page shows can be run there: it shows what each would do, asks what the command"
                    + " asks, and records it in the map's history.",
            "Opens with the address that it prints, whose token is new each time. Servers are asked while the page is open.",
            "Also serves /metrics, as shardflake exporter does."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "1:the catalog cannot be reached at the start, or failed",
            "2:the command line is wrong, or the address is not one of localhost",
            "4:there is no catalog, it is too old for --allow-changes, or the address is taken",
            "130:ended with Ctrl-C"
        },
        footer = {"", "Example: shardflake console --listen 127.0.0.1:9719"})
public final class ConsoleCommand implements Callable<Integer> {

    /** The number of shards with individual metrics, the same as the exporter's default. */
    private static final int TOP = 20;

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--listen",
            paramLabel = "[HOST:]PORT",
            defaultValue = "127.0.0.1:9719",
            converter = AddressConverter.class,
            description =
                    "Where to listen, on localhost only. Port 0 takes any that is free (default: ${DEFAULT-VALUE}).")
    private InetSocketAddress address;

    @Option(
            names = "--allow-changes",
            description = "Let the page run the commands that it shows, for anyone who has the token.")
    private boolean allowChanges;

    @Mixin
    private IdKeyMixin key;

    @Mixin
    private CatalogMixin catalog;

    @Override
    public Integer call() throws InterruptedException {
        requireLocal();
        Optional<PublicIds> publicIds = key.isGiven() ? Optional.of(key.publicIds()) : Optional.empty();
        Optional<Operator> operator = allowChanges ? Optional.of(operator()) : Optional.empty();
        catalog.onlyReads();
        try (Watch watch = new Watch(catalog.url(), catalog::urlOf, catalog::parse, catalog::warn);
                Console console = start(watch, publicIds, operator)) {
            PrintWriter out = spec.commandLine().getOut();
            out.println("the console is at http://%s%s"
                    .formatted(AddressConverter.number(console.address()), console.entrance()));
            if (allowChanges) {
                catalog.say("anyone with this address can change the installation until the console ends");
            }
            out.flush();
            new CountDownLatch(1).await();
        }
        return ExitCodes.OK;
    }

    private void requireLocal() {
        if (!address.getAddress().isLoopbackAddress()) {
            throw new CliException(
                    Kind.USAGE,
                    "the console listens only on localhost, and %s is not an address of it"
                            .formatted(AddressConverter.text(address, address.getPort())),
                    "from another machine, use a tunnel: ssh -L 9719:127.0.0.1:9719 HOST");
        }
    }

    private Operator operator() {
        Progress.leaveTerminal();
        ConsoleOperator operator =
                new ConsoleOperator(root(), catalog, System.getProperty("user.name", "an unknown user"));
        operator.requireHistory();
        return operator;
    }

    private Invocation.Root root() {
        return (Invocation.Root) spec.root().userObject();
    }

    private Console start(Watch watch, Optional<PublicIds> publicIds, Optional<Operator> operator) {
        ConsoleQuestions questions = new ConsoleQuestions(catalog, publicIds);
        try {
            return Console.start(address, watch, questions, operator, TOP, catalog::warn);
        } catch (IOException e) {
            throw AddressConverter.taken(address, e);
        }
    }
}
