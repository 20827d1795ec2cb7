/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveServer;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.server.ServerUrl;
import picocli.CommandLine.Option;

/** How moves are made, and which one a command is about. */
class MoveMixin extends CatalogMixin {

    @Option(
            names = "--patience",
            paramLabel = "TIME",
            defaultValue = "10m",
            converter = DurationConverter.class,
            description =
                    "How long a cutover that gave itself up, or a server that does not answer, is tried again (default: ${DEFAULT-VALUE}).")
    private Duration patience;

    /** The settings that go with the patience. */
    MoveSettings settings(int jobs, long bytesPerSecond, Duration maxLag, Duration pause, boolean verify) {
        try {
            Duration lockTimeout = pause.dividedBy(3);
            return new MoveSettings(jobs, bytesPerSecond, maxLag, pause, lockTimeout, patience, verify);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }

    MoveSettings settings(Duration pause, boolean verify) {
        MoveSettings defaults = MoveSettings.DEFAULT;
        return settings(defaults.jobs(), defaults.bytesPerSecond(), defaults.maxLag(), pause, verify);
    }

    MoveSettings settings() {
        return settings(MoveSettings.DEFAULT.pause(), true);
    }

    Mover mover(MoveSettings settings, MoveListener listener) {
        ShardMap map = map();
        return new Mover(
                url(), name -> new MoveServer(name, parse(map.server(name).url())), settings, listener);
    }

    ShardMap map() {
        return catalog().load();
    }

    MoveServer server(ShardMap map, String name) {
        return new MoveServer(name, parse(map.server(name).url()));
    }

    final ServerUrl url() {
        ServerUrl url = given();
        if (url == null) {
            throw new IllegalStateException("the map was loaded from a catalog that nobody gave");
        }
        return url;
    }

    /** The move with this number, or the only one there is. */
    static Move find(Mover mover, @Nullable Long id) {
        if (id != null) {
            return mover.move(id);
        }
        List<Move> moves = mover.moves();
        if (moves.size() != 1) {
            String numbers =
                    moves.stream().map(move -> String.valueOf(move.id())).collect(Collectors.joining(", "));
            throw new CliException(
                    moves.isEmpty() ? Kind.PRECONDITION : Kind.USAGE,
                    moves.isEmpty() ? "there is no move" : "which move? There are " + numbers,
                    moves.isEmpty() ? "begin one with shardflake move start" : "give its number");
        }
        return moves.get(0);
    }

    /** The shards that the user named, or all of the move. */
    static ShardSet shards(Move move, @Nullable String text) {
        if (text == null) {
            return move.shardSet();
        }
        ShardSet wanted = parseShards(text);
        if (!wanted.stream().allMatch(move.shardSet()::contains)) {
            throw CliException.usage(
                    "shards %s are not all in move %d, which has %s".formatted(wanted, move.id(), move.shardSet()));
        }
        return wanted;
    }

    static ShardSet parseShards(String text) {
        try {
            return ShardSet.parse(text);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }
}
