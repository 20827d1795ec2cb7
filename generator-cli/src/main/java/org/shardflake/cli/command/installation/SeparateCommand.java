/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.install.Separation;
import org.shardflake.install.Separation.Separated;
import org.shardflake.jdbc.Plural;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code shardflake separate}: turns a clone into a separate installation. */
@Command(
        name = "separate",
        description = {
            "Turns a clone of an installation, with all databases restored elsewhere, into a separate installation.",
            "The clone's catalog has the original's addresses, so do this before anything else, with the clone's catalog and"
                    + " the address of every server's clone. Removes subscriptions of the clone that would follow the original.",
            "After an interruption, run the same command again."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:a server or the catalog cannot be reached, or failed",
            "2:the command line is wrong, a server's address is missing, or it was not confirmed",
            "4:there is no catalog, an address leads to the original or to another installation, or is the one that the catalog has; nothing was changed"
        },
        footer = {
            "",
            "Example: shardflake separate --catalog postgresql://app@test1/app --server db1=postgresql://app@test1/app --server db2=postgresql://app@test2/app --yes"
        })
public final class SeparateCommand implements Runnable {

    @Option(
            names = "--server",
            paramLabel = "NAME=URL",
            required = true,
            description =
                    "A server of the map and the URL of its clone, db1=postgresql://user@host:port/database, without a password. Once for each server.")
    private Map<String, String> servers = new LinkedHashMap<>();

    @Mixin
    private DryRunMixin dryRun;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        Separation separation = new Separation(catalog.url(), catalog::parse);
        separation.check(servers);
        if (dryRun.shows(output, "separate the clone at " + catalog.url().hosts(), servers)) {
            return;
        }
        confirm.require(
                "give the catalog at %s, and %s, a new identity"
                        .formatted(catalog.url().hosts(), Plural.of(servers.size(), "server")),
                "see what would be done with --dry-run");
        Separated separated = separation.run(servers);
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("before", separated.before().id().toString());
        facts.put("id", separated.now().id().toString());
        facts.put("subscriptions", separated.subscriptions());
        output.print(
                facts,
                () -> "separated from installation %s; this one is %s now"
                        .formatted(separated.before().id(), separated.now().id()));
    }
}
