/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import picocli.CommandLine.Model.CommandSpec;

/** The parts shared by commands that change a server. */
final class ServerChange {

    private ServerChange() {}

    /** Refuses a name or a URL that is taken. */
    static void requireNew(Server server, ShardMap map) {
        for (Server other : map.servers()) {
            if (other.name().equals(server.name())) {
                throw new CliException(
                        Kind.PRECONDITION,
                        "server %s is in the shard map already".formatted(server.name()),
                        "shardflake server change %s changes its URL and labels".formatted(server.name()));
            }
        }
        requireOwnUrl(server, map);
    }

    /** Refuses the URL of another server. */
    static void requireOwnUrl(Server server, ShardMap map) {
        for (Server other : map.servers()) {
            if (other.url().equals(server.url()) && !other.name().equals(server.name())) {
                throw new CliException(
                        Kind.PRECONDITION, "server %s has this URL already".formatted(other.name()), null);
            }
        }
    }

    /** Describes the planned or completed change. */
    static Map<String, Object> facts(String server, String change) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("server", server);
        facts.put("change", change);
        return facts;
    }

    /** Reports the completed change. */
    static void print(CommandSpec command, OutputMixin output, String done, String server, long version) {
        Map<String, Object> facts = facts(server, done);
        facts.put("version", version);
        output.print(
                command.commandLine().getOut(),
                facts,
                () -> "%s server %s; the shard map is at version %d".formatted(done, server, version));
    }
}
