/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.DeployedLayout;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.Sharding;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.server.IdSource;
import org.shardflake.cli.server.ServerAccess;
import org.shardflake.install.ServerFailedException;
import org.shardflake.server.ServerUrl;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake id next}: draws new ids from a server. */
@Command(
        name = "next",
        description = {
            "Draws new ids of one shard on its server.",
            "With --table, ids come from the table's sequence, so that they never clash with ids of its rows;"
                    + " otherwise from the shard's own sequence."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the server cannot be reached, or failed",
            "2:the command line is wrong",
            "3:failed after some ids were printed; those are good",
            "4:there is no catalog, or the server lacks the function library, the shard or the table, or has another id layout"
        },
        footer = {"", "Example: shardflake id next --uid 31341 --table photo --count 5"})
final class IdNextCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--server",
            paramLabel = "URL",
            description = "postgresql://user@host:port/database or jdbc:postgresql://...; the password may come from"
                    + " PGPASSWORD or ~/.pgpass (default: the server that the catalog has for the shard).")
    private @Nullable String server;

    @ArgGroup(multiplicity = "1")
    private Target target;

    static final class Target {
        @Option(names = "--shard", paramLabel = "N", description = "The shard, 0..8191.")
        private @Nullable Integer shard;

        @Option(names = "--uid", paramLabel = "N", description = "A sharding key, to use its shard.")
        private @Nullable Long uid;
    }

    @Option(
            names = "--shards",
            paramLabel = "N",
            description = "With --server and --uid: the number of shards of the installation (default: "
                    + Sharding.DEFAULT_SHARD_COUNT + ").")
    private @Nullable Integer shardCount;

    @Option(names = "--table", paramLabel = "NAME", description = "A table of the shard, without its schema.")
    private @Nullable String table;

    @Option(
            names = "--count",
            paramLabel = "N",
            defaultValue = "1",
            description = "How many ids to make (default: ${DEFAULT-VALUE}).")
    private long count;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        ShardMap map = server == null ? catalog.catalog().load() : null;
        int shard = shard(map == null ? null : map.sharding());
        if (count < 1) {
            throw CliException.usage("count is %s, allowed: 1 or more".formatted(count));
        }
        ServerUrl url = map == null ? catalog.parse(String.valueOf(server)) : catalog.urlOf(map.server(shard));
        try (Connection connection = ServerAccess.connect(url)) {
            DeployedLayout.read(connection);
            draw(IdSource.find(connection, url, shard, table), url);
        } catch (SQLException e) {
            throw ServerFailedException.statement(url, e);
        }
        return ExitCodes.OK;
    }

    private int shard(@Nullable Sharding known) {
        try {
            if (target.uid != null) {
                Sharding sharding = known != null
                        ? known
                        : new Sharding(shardCount == null ? Sharding.DEFAULT_SHARD_COUNT : shardCount);
                return sharding.shard(target.uid);
            }
            int shard = target.shard == null ? -1 : target.shard;
            Sharding.schema(shard);
            return shard;
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }

    private void draw(IdSource ids, ServerUrl url) throws SQLException {
        IdPrinter printer = new IdPrinter(spec.commandLine().getOut(), output.format());
        try {
            for (long left = count; left > 0; left -= IdSource.MAX_COUNT) {
                ids.draw((int) Math.min(left, IdSource.MAX_COUNT), printer::print);
            }
        } catch (SQLException e) {
            if (printer.printed() == 0) {
                throw e;
            }
            throw new CliException(
                    Kind.PARTLY_DONE,
                    "stopped after %s of %s ids: %s"
                            .formatted(
                                    printer.printed(),
                                    count,
                                    ServerFailedException.statement(url, e).getMessage()),
                    "the ids printed are good and will not be made again",
                    e);
        }
        printer.end();
    }
}
