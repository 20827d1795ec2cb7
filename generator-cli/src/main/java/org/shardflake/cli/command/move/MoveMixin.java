/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.shardflake.ShardMap;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.DurationConverter;
import org.shardflake.cli.error.CliException;
import org.shardflake.gateway.GatewayFollower;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.server.MoveServer;
import picocli.CommandLine.Option;

/** The options with the settings of moves. */
public class MoveMixin extends CatalogMixin {

    @Option(
            names = "--patience",
            paramLabel = "TIME",
            defaultValue = "10m",
            converter = DurationConverter.class,
            description =
                    "How long to retry a cutover that gave up or a server that does not answer (default: ${DEFAULT-VALUE}).")
    private Duration patience;

    private final Set<Long> begun = ConcurrentHashMap.newKeySet();

    /** Makes Ctrl-C report the state of the move that the command works on, and how to go back. */
    public Move begun(Move move) {
        begun.add(move.id());
        onInterruption(this::left);
        return move;
    }

    private String left() {
        return Mover.moves(url()).stream()
                .filter(move -> begun.contains(move.id()))
                .map(MoveView::left)
                .collect(Collectors.collectingAndThen(
                        Collectors.joining(String.format("%n")), text -> text.isEmpty() ? "no move is left" : text));
    }

    /** The settings, with the patience of this option and the rest filled in by others. */
    public MoveSettings settings(UnaryOperator<MoveSettings.Builder> others) {
        try {
            return others.apply(MoveSettings.builder().patience(patience)).build();
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }

    /** A listener that reports on stderr. */
    public MoveProgress progress() {
        return new MoveProgress(err());
    }

    public Mover mover(MoveListener listener) {
        return mover(settings(usual -> usual), listener);
    }

    public Mover mover(MoveSettings settings, MoveListener listener) {
        return mover(this, settings, listener);
    }

    /** A mover for a command that has a catalog but no options of moves. */
    public static Mover mover(CatalogMixin catalog, MoveSettings settings, MoveListener listener) {
        ShardMap map = catalog.catalog().load();
        return new Mover(
                catalog.url(),
                name -> new MoveServer(name, catalog.parse(map.server(name).url())),
                settings,
                listener,
                new GatewayFollower(catalog.gateways(), problem -> catalog.warn(problem.toString())));
    }

    public ShardMap map() {
        return catalog().load();
    }
}
