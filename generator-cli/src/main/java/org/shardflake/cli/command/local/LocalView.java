/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.local;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.shardflake.CliCommand;
import org.shardflake.cli.local.LocalInstallation;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.cluster.LocalServer;

/** Shows a local cluster, for people and for machines. */
final class LocalView {

    private LocalView() {}

    static Map<String, Object> facts(LocalInstallation local) {
        Map<String, Object> facts = new LinkedHashMap<>();
        local.catalog().ifPresent(catalog -> facts.put("catalog", catalog));
        facts.put("servers", local.servers().stream().map(LocalView::facts).toList());
        return facts;
    }

    private static Map<String, Object> facts(LocalServer server) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("name", server.name());
        facts.put("uri", LocalInstallation.uri(server));
        facts.put("running", server.isRunning());
        return facts;
    }

    static String text(LocalInstallation local) {
        List<LocalServer> servers = local.servers();
        if (servers.isEmpty()) {
            return "there is no local cluster in %s; %s creates one"
                    .formatted(local.directory(), CliCommand.LOCAL_START);
        }
        TableWriter table = new TableWriter("SERVER", "STATE", "URI");
        servers.forEach(server ->
                table.row(server.name(), server.isRunning() ? "running" : "stopped", LocalInstallation.uri(server)));
        return table.toString();
    }

    /**
     * The text while servers start, kept out of the command class, since picocli examines all methods of a command and loads the classes they
     * name.
     */
    static String starting(LocalInstallation local) {
        return local.servers().stream()
                .filter(server -> !server.isRunning())
                .map(LocalServer::name)
                .collect(Collectors.joining(", ", "starting ", ""));
    }
}
