/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import static java.util.stream.Collectors.joining;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.grants.GrantScript;
import org.shardflake.grants.Grants.Work;
import org.shardflake.server.ServerUrl;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** {@code shardflake grants}: prints the SQL that gives a role its privileges. */
@Command(
        name = "grants",
        description = {
            "Prints the SQL that gives a role what it needs for its work, and no more, on the servers and in the catalog.",
            "Run it as a superuser or as the provider's administrator. This command itself changes nothing."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:printed",
            "1:a server or the catalog cannot be reached",
            "2:the command line is wrong",
            "4:the role needs something that no statement can grant; the rest is printed"
        },
        footer = {"", "Example: shardflake grants --for moves --role mover"})
public final class GrantsCommand implements Callable<Integer> {

    @Option(
            names = "--for",
            paramLabel = "WORK",
            required = true,
            converter = WorkConverter.class,
            completionCandidates = WorkConverter.Names.class,
            description = "moves (also rebalance, server drain, reconcile), deploy, application, adopt or doctor.")
    private Work work;

    @Option(names = "--role", paramLabel = "NAME", required = true, description = "The role, which may not exist yet.")
    private String role;

    @Option(
            names = "--server",
            paramLabel = "URL",
            description = "Only for this server, without asking the catalog: before shardflake init.")
    private @Nullable String server;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        if (role.isBlank()) {
            throw CliException.usage("the role's name is empty; give one with --role, such as mover");
        }
        List<GrantScript> scripts = scripts();
        output.printSql(
                scripts.stream().map(GrantsCommand::facts).toList(),
                () -> scripts.stream().map(GrantScript::sql).collect(joining("\n")));
        List<String> impossible = scripts.stream()
                .flatMap(script -> script.impossible().stream().map(why -> "on " + script.place() + ", " + why))
                .toList();
        if (!impossible.isEmpty()) {
            throw new CliException(
                    Kind.PRECONDITION,
                    "%s cannot be given what it needs: %s".formatted(role, String.join("; ", impossible)),
                    "see the guide's page on managed servers for who should own what");
        }
        return ExitCodes.OK;
    }

    private List<GrantScript> scripts() {
        if (server != null) {
            return GrantScript.forServers(Map.of("the server", catalog.parse(server)), work, role);
        }
        Map<String, ServerUrl> urls =
                catalog.installation().urls(catalog.catalog().load());
        List<GrantScript> scripts = new ArrayList<>(GrantScript.forServers(urls, work, role));
        scripts.add(GrantScript.forCatalog(catalog.url(), work, role));
        return scripts;
    }

    private static Map<String, Object> facts(GrantScript script) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("place", script.place());
        facts.put("version", script.version());
        facts.put(
                "statements",
                script.grants().stream()
                        .flatMap(grant -> grant.statement().stream())
                        .toList());
        return facts;
    }

    static final class WorkConverter implements ITypeConverter<Work> {

        /** The values that completion offers. */
        static final class Names implements Iterable<String> {
            @Override
            public Iterator<String> iterator() {
                return Arrays.stream(Work.values())
                        .map(work -> work.name().toLowerCase(Locale.ROOT))
                        .iterator();
            }
        }

        @Override
        public Work convert(String text) {
            for (Work work : Work.values()) {
                if (work.name().toLowerCase(Locale.ROOT).equals(text)) {
                    return work;
                }
            }
            throw new TypeConversionException(
                    "'%s' is not one of moves, deploy, application, adopt, doctor".formatted(text));
        }
    }
}
