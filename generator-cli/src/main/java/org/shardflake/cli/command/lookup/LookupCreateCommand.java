/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.lookup;

import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.lookup.LookupPlan;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code shardflake lookup create}: creates a lookup. */
@Command(
        name = "create",
        description = {
            "Creates a lookup over the values of a column, with its tables in every shard. From then on the application can claim values;"
                    + " lookup backfill adds those of existing rows, and then they can be found.",
            "If interrupted, run the same command again; if the lookup exists, nothing is changed."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the lookup is there",
            "1:a server or the catalog cannot be reached, or failed",
            "2:the command line is wrong, or there is no such table or column",
            "3:some shards did not get the tables; run the command again",
            "4:a lookup of this name exists with other properties, some shards lack the table or a column, shards are not deployed or being moved, or the catalog is of an older version; nothing was changed"
        },
        footer = {"", "Example: shardflake lookup create account.email --unique --ignore-case"})
final class LookupCreateCommand implements Callable<Integer> {

    @Parameters(
            index = "0",
            paramLabel = "NAME",
            description = "The name: TABLE.COLUMN of the values, such as account.email, or any with --no-source.")
    private String name;

    @Option(names = "--unique", description = "Let only one row in all shards hold a value.")
    private boolean unique;

    @Option(names = "--ignore-case", description = "Treat the letters A to Z as a to z.")
    private boolean ignoreCase;

    @Option(names = "--hashed", description = "Keep the SHA-256 of values instead of the values.")
    private boolean hashed;

    @Option(names = "--table", paramLabel = "TABLE", description = "The table, if it is not in the name.")
    private @Nullable String table;

    @Option(names = "--column", paramLabel = "COLUMN", description = "The column, if it is not in the name.")
    private @Nullable String column;

    @Option(
            names = "--uid-column",
            paramLabel = "COLUMN",
            description =
                    "The table's column with the uid (default: the one whose comment in the shards begins with 'shard key', or uid).")
    private @Nullable String uidColumn;

    @Option(
            names = "--id-column",
            paramLabel = "COLUMN",
            defaultValue = "id",
            description = "The table's column with the id (default: ${DEFAULT-VALUE}).")
    private String idColumn;

    @Option(
            names = "--no-source",
            description = "No column has the values: the application alone knows them, and claims them all.")
    private boolean noSource;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        catalog.onInterruption(() ->
                "some shards may have the lookup already%nto go back: %s".formatted(CliCommand.LOOKUP_DROP.with(name)));
        LookupDefinition created = catalog.lookups().create(plan());
        output.print(LookupView.facts(created), () -> LookupView.created(created));
        return 0;
    }

    private LookupPlan plan() {
        if (!name.matches("[a-z_][a-z0-9_.]{0,99}")) {
            throw new CliException(
                    Kind.USAGE,
                    "\"%s\" cannot be the name of a lookup".formatted(name),
                    "use at most 100 of a to z, 0 to 9, _ and ., not beginning with a digit, as in account.email");
        }
        return new LookupPlan(name, unique, ignoreCase, hashed, source());
    }

    private Optional<LookupDefinition.Source> source() {
        if (noSource) {
            return Optional.empty();
        }
        int dot = name.indexOf('.');
        String itsTable = table != null ? table : dot > 0 ? name.substring(0, dot) : null;
        String itsColumn = column != null ? column : dot > 0 ? name.substring(dot + 1) : null;
        if (itsTable == null || itsColumn == null) {
            throw new CliException(
                    Kind.USAGE,
                    "which column has the values of lookup %s?".formatted(name),
                    "name it TABLE.COLUMN, give --table and --column, or give --no-source");
        }
        String itsUid = uidColumn != null
                ? uidColumn
                : catalog.lookups().keyColumn(itsTable).orElse("uid");
        return Optional.of(new LookupDefinition.Source(itsTable, itsColumn, itsUid, idColumn));
    }
}
