/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.AdoptTable;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.adoption.AdoptionPlanFile;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.FileFailure;
import org.shardflake.server.ServerUrl;
import picocli.CommandLine.Option;

/** The options of commands that work on all tables of a plan, or on tables that are named. */
final class PlannedAdoptionMixin {

    @Option(names = "--plan", paramLabel = "FILE", description = "The plan, made by adopt plan.")
    private @Nullable Path plan;

    @Option(
            names = "--table",
            paramLabel = "TABLE",
            description =
                    "In place of a plan, a table that has the key, such as photo or app.photo. May be repeated, for tables that are adopted together.")
    private List<String> tables = List.of();

    @Option(
            names = "--key",
            paramLabel = "COLUMN",
            description =
                    "With --table, the column with the key: integer, text or uuid (default: that of an adoption that has begun, or the one whose comment in the shards begins with 'shard key').")
    private @Nullable String key;

    @Option(
            names = "--into",
            paramLabel = "NAME",
            description =
                    "With --table, the name that it has in the shards (default: that of an adoption that has begun, or the same name).")
    private @Nullable String into;

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

    /** The plan; empty if tables are named in its place. */
    Optional<AdoptionPlan> read() {
        if ((plan == null) == tables.isEmpty()) {
            throw CliException.usage(
                    plan == null ? "missing: --plan FILE, or --table TABLE" : "--plan and --table exclude each other");
        }
        if (plan != null && (key != null || into != null)) {
            throw CliException.usage("--key and --into go with --table: a plan says them for each of its tables");
        }
        if (tables.size() > 1 && into != null) {
            throw CliException.usage("--into is for one --table");
        }
        return Optional.ofNullable(plan).map(PlannedAdoptionMixin::read);
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

    /** Does work whose failures advise commands: for the same tables and database, they can be run as they are. */
    int advising(CatalogMixin catalog, Callable<Integer> work) throws Exception {
        try {
            return work.call();
        } catch (ShardflakeException e) {
            Advice given = e.advice().orElse(Advice.of(""));
            Advice advice = given.with(command -> same(command, catalog));
            if (advice.equals(given)) {
                throw e;
            }
            String message = String.valueOf(e.getMessage());
            throw e instanceof CliException
                    ? new CliException(e.kind(), message, advice, e)
                    : new ShardflakeException(e.kind(), message, advice, e);
        }
    }

    private CliCommand same(CliCommand command, CatalogMixin catalog) {
        CliCommand chosen = plan == null ? command.ofTables(tables, key, into) : command.withOption("plan", plan);
        return chosen.withOption("from", from(catalog).withoutPassword());
    }

    /** Connects to all servers. */
    DatabaseAdopter open(
            Optional<AdoptionPlan> its,
            CatalogMixin catalog,
            int batchRows,
            int rowsPerSecond,
            AdoptListener listener) {
        DatabaseSettings settings;
        try {
            settings = its.isPresent()
                    ? DatabaseSettings.of(its.get(), batchRows, workers, rowsPerSecond)
                    : new DatabaseSettings(
                            tables.stream()
                                    .map(table -> AdoptTable.of(table, into, key))
                                    .toList(),
                            batchRows,
                            workers,
                            rowsPerSecond);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
        ShardMap map = catalog.catalog().load();
        return DatabaseAdopter.open(settings, from(catalog), catalog.url(), map, catalog::urlOf, listener);
    }
}
