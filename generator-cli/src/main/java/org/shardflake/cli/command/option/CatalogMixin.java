/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cli.config.Setting;
import org.shardflake.cli.config.Settings;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.output.TaskProgress;
import org.shardflake.gateway.Gateways;
import org.shardflake.install.Installation;
import org.shardflake.lookup.LookupTables;
import org.shardflake.server.ServerUrl;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The options that choose the catalog which a command reads or changes. */
public class CatalogMixin {

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    @Option(
            names = "--catalog",
            paramLabel = "URL",
            description = "The database with the shard map, postgresql://user@host:port/database; the password may come"
                    + " from PGPASSWORD or ~/.pgpass (default: SHARDFLAKE_CATALOG, or catalog in shardflake.yaml, or the"
                    + " local cluster).")
    private @Nullable String url;

    @Option(
            names = "--password-command",
            paramLabel = "COMMAND",
            description =
                    "A program with its arguments that prints the password for PGUSER at PGHOST, PGPORT and PGDATABASE; run"
                            + " without a shell, at each new connection but not more often than every 5 s for one server.")
    private @Nullable String passwordCommand;

    private boolean isToldOfOrigin;
    private boolean isToldOfStandby;
    private boolean readsOnly;

    /** Lets a read-only command read from a standby, with a warning, if there is no primary. */
    public void onlyReads() {
        readsOnly = true;
    }

    /** The catalog's URL; fails if none is set. */
    public final ServerUrl url() {
        ServerUrl given = given();
        if (given == null) {
            throw new CliException(
                    Kind.USAGE,
                    "no catalog is set: looked at --catalog, the environment variable %s, catalog in shardflake.yaml, and a local cluster here"
                            .formatted(Settings.variable("catalog")),
                    Advice.of(
                            "give --catalog postgresql://user@host:5432/database, or begin with %s",
                            CliCommand.LOCAL_START));
        }
        return given;
    }

    /** The catalog's URL without its password, if the URL was given on the command line. */
    public final Optional<String> ofCommandLine() {
        return Optional.ofNullable(url)
                .filter(text -> !text.isBlank())
                .map(this::parse)
                .map(ServerUrl::withoutPassword);
    }

    /** The arguments that pass the catalog to another command, with its password or the command that prints the password. */
    public final List<String> arguments() {
        List<String> arguments = new ArrayList<>();
        if (url != null && !url.isBlank()) {
            arguments.addAll(List.of("--catalog", url));
        }
        if (passwordCommand != null) {
            arguments.add("--password-command=" + passwordCommand);
        }
        return arguments;
    }

    /** The catalog, without connecting to it. */
    public ShardCatalog catalog() {
        return ShardCatalog.at(url());
    }

    /** The URL from the command line, the environment, the file or the local cluster, in this order; null if none has it. */
    @Nullable
    public ServerUrl given() {
        return origin().map(this::told)
                .map(parsed -> readsOnly ? parsed.toRead(() -> tellOfStandby(parsed)) : parsed)
                .orElse(null);
    }

    private ServerUrl told(Setting setting) {
        if (!isToldOfOrigin) {
            isToldOfOrigin = true;
            CatalogOrigin.tell(command, setting);
        }
        return parse(setting.value());
    }

    private void tellOfStandby(ServerUrl parsed) {
        if (!isToldOfStandby) {
            isToldOfStandby = true;
            warn("the catalog at %s is a standby (in recovery): what is shown may be old".formatted(parsed.hosts()));
        }
    }

    /** The catalog together with its map's servers, with credentials from the environment. */
    public Installation installation() {
        return new Installation(url(), this::urlOf);
    }

    public LookupTables lookups() {
        return new LookupTables(url(), this::urlOf, new TaskProgress(err()));
    }

    /** Reports progress on stderr. */
    public final void say(String what) {
        err().println(what);
    }

    /** Sets the text that is printed after Ctrl-C: what is left; how to continue is added. */
    public final void onInterruption(Supplier<String> left) {
        Interruption.expect(command, left);
    }

    /** Standard error. */
    public final PrintWriter err() {
        return command.commandLine().getErr();
    }

    /** The gateways, with credentials from the environment. */
    public Gateways gateways() {
        return new Gateways(url(), this::parse);
    }

    /** Prints a warning on stderr, which the result does not depend on. */
    public final void warn(String what) {
        err().println("warning: " + what);
    }

    /** The setting with the catalog's URL, and where it comes from. */
    public Optional<Setting> origin() {
        return url != null && !url.isBlank()
                ? Optional.of(new Setting("catalog", url, "command line"))
                : CatalogOrigin.find(invocation());
    }

    /** A URL, with missing parts taken from the environment and the password command. */
    public ServerUrl parse(String text) {
        return invocation().url(text, passwordCommand);
    }

    /** The URL of a server in the shard map, with missing parts from the environment, for sessions whose failures name the server. */
    public ServerUrl urlOf(Server server) {
        return parse(server.url()).named(server.name());
    }

    private Invocation invocation() {
        return Invocation.of(command);
    }
}
