/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.server;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;

/** The common parts of the commands that change a server. */
final class ServerChange {

    private ServerChange() {}

    /** The URL, given either after the name or as an option. */
    static Optional<String> url(@Nullable String argument, @Nullable String option) {
        if (argument != null && option != null) {
            throw CliException.usage("the server's URL is given twice");
        }
        return Optional.ofNullable(argument).or(() -> Optional.ofNullable(option));
    }

    /** Refuses a name or a URL that is already in use. */
    static void requireNew(Server server, ShardMap map) {
        for (Server other : map.servers()) {
            if (other.name().equals(server.name())) {
                throw new CliException(
                        Kind.PRECONDITION,
                        "server %s is in the shard map already".formatted(server.name()),
                        Advice.of("to change its URLs: %s", CliCommand.SERVER_CHANGE.with(server.name())));
            }
        }
        requireOwnUrls(server, map);
    }

    /** Refuses URLs that lead to another server. */
    static void requireOwnUrls(Server server, ShardMap map) {
        for (Server other : map.servers()) {
            if (!other.name().equals(server.name()) && !Collections.disjoint(urls(other), urls(server))) {
                throw new CliException(
                        Kind.PRECONDITION, "server %s has this URL already".formatted(other.name()), null);
            }
        }
    }

    private static List<String> urls(Server server) {
        return List.of(server.url(), server.routerUrl());
    }

    /** Describes the planned or completed change. */
    static Map<String, Object> facts(String server, String change) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("server", server);
        facts.put("change", change);
        return facts;
    }

    /** Reports the completed change. */
    static void print(OutputMixin output, String done, String server, long version) {
        Map<String, Object> facts = facts(server, done);
        facts.put("version", version);
        output.print(facts, () -> "%s server %s; the shard map is at version %s".formatted(done, server, version));
    }
}
