/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.io.IOException;
import java.nio.file.Path;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.adoption.AdoptionPlanFile;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.FileFailure;
import org.shardflake.server.ServerUrl;
import picocli.CommandLine.Option;

/** The options of commands that work on all tables of a plan. */
final class PlannedAdoptionMixin {

    @Option(names = "--plan", required = true, paramLabel = "FILE", description = "The plan, made by adopt plan.")
    private Path plan;

    @Option(
            names = "--from",
            required = true,
            paramLabel = "URL",
            description =
                    "The database of the tables. The login must own them and be allowed to create a schema and triggers.")
    private String from;

    @Option(
            names = "--workers",
            paramLabel = "N",
            defaultValue = "" + DatabaseSettings.DEFAULT_WORKERS,
            description =
                    "How many tables to work on at a time, each with a session on every server (default: ${DEFAULT-VALUE}).")
    private int workers;

    AdoptionPlan read() {
        return read(plan);
    }

    static AdoptionPlan read(Path plan) {
        try {
            return AdoptionPlanFile.read(plan);
        } catch (IOException e) {
            throw FileFailure.explain("read", plan.toString(), e);
        } catch (IllegalArgumentException e) {
            throw new CliException(
                    Kind.USAGE,
                    String.valueOf(e.getMessage()),
                    "name a plan of shardflake adopt plan, and correct it if it was edited",
                    e);
        }
    }

    /** The old database, which has the tables. */
    ServerUrl from(CatalogMixin catalog) {
        return catalog.parse(from);
    }

    /** Connects to all servers. */
    DatabaseAdopter open(
            AdoptionPlan its, CatalogMixin catalog, int batchRows, int rowsPerSecond, AdoptListener listener) {
        DatabaseSettings settings;
        try {
            settings = DatabaseSettings.of(its, batchRows, workers, rowsPerSecond);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
        ShardMap map = catalog.catalog().load();
        return DatabaseAdopter.open(settings, from(catalog), catalog.url(), map, catalog::urlOf, listener);
    }
}
