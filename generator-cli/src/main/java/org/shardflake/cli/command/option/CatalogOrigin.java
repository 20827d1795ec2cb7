/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.config.Setting;
import org.shardflake.cli.config.Settings;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.local.LocalInstallation;
import org.shardflake.cli.server.ServerAccess;
import org.shardflake.cluster.LocalServer;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** Finds the catalog of a command that was not given one. */
public final class CatalogOrigin {

    private static final String LIBPQ = "PGSERVICE, PGHOST and others like them";
    private static final String LOCAL = "local cluster in ";

    private CatalogOrigin() {}

    /** The catalog from the environment, {@code shardflake.yaml}, the local cluster, or libpq's variables, in this order. */
    public static Optional<Setting> find(Invocation invocation) {
        return invocation
                .settings()
                .find("catalog")
                .or(() -> local(invocation.settings()))
                .or(() -> ServerAccess.libpqDefault(invocation.environment())
                        .map(url -> new Setting("catalog", url, LIBPQ)));
    }

    /** Whether the setting comes from libpq's environment variables. */
    public static boolean isOfLibpq(Setting catalog) {
        return catalog.origin().equals(LIBPQ);
    }

    /**
     * Warns where a password is about to be sent if only a file in the current directory names the server: someone else may have written the
     * file. Also says which program such a file has run for the password.
     */
    public static void tell(CommandSpec command, Setting catalog) {
        Invocation invocation = Invocation.of(command);
        OptionSpec option = command.findOption("--" + Invocation.PASSWORD_COMMAND);
        invocation
                .settings()
                .find(Invocation.PASSWORD_COMMAND)
                .filter(invocation.settings()::isFound)
                .filter(found -> option == null || found.value().equals(option.getValue()))
                .ifPresent(found -> command.commandLine()
                        .getErr()
                        .printf("password command: %s, from %s in this directory%n", found.value(), found.origin()));
        if (invocation.settings().isFound(catalog)
                && hasPassword(invocation.environment())
                && ServerAccess.lacksPassword(catalog.value())) {
            command.commandLine()
                    .getErr()
                    .printf(
                            "catalog: %s, from %s in this directory%n",
                            ServerAccess.parse(catalog.value(), Map.of()), catalog.origin());
        }
    }

    private static boolean hasPassword(Map<String, String> environment) {
        if (!environment.getOrDefault("PGPASSWORD", "").isEmpty()) {
            return true;
        }
        String file = environment.getOrDefault("PGPASSFILE", System.getProperty("user.home", "") + "/.pgpass");
        return !file.isEmpty() && Files.exists(Path.of(file));
    }

    private static Optional<Setting> local(Settings settings) {
        Path directory = Path.of(settings.find("local").map(Setting::value).orElse(LocalMixin.DIRECTORY));
        if (!Files.isDirectory(directory)) {
            return Optional.empty();
        }
        LocalInstallation local = LocalInstallation.in(directory);
        Optional<LocalServer> home = local.home();
        if (home.isPresent() && !home.get().isRunning()) {
            boolean isOneDown = local.servers().stream().anyMatch(LocalServer::isRunning);
            throw new CliException(
                    Kind.PRECONDITION,
                    isOneDown
                            ? "no catalog is set, and %s, which has that of the local cluster in %s, is stopped"
                                    .formatted(home.get().name(), directory)
                            : "no catalog is set, and the local cluster in %s is stopped".formatted(directory),
                    Advice.of("start it with %s", CliCommand.LOCAL_START));
        }
        if (settings.find("local").isEmpty()) {
            Settings.requireOwn(directory, "--catalog or SHARDFLAKE_LOCAL=%s uses it anyway".formatted(directory));
        }
        return local.catalog().map(uri -> new Setting("catalog", uri, LOCAL + directory));
    }
}
