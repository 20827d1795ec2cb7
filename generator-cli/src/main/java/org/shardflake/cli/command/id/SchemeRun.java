/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.error.CliException;
import org.shardflake.install.ServerFailedException;
import org.shardflake.scheme.ClockStandsException;
import org.shardflake.scheme.ClockWentBackException;
import org.shardflake.scheme.GeneratorSettings;
import org.shardflake.scheme.IdGenerator;
import org.shardflake.scheme.LeaseLostException;
import org.shardflake.scheme.NoFreeWorkerException;
import org.shardflake.scheme.Scheme;
import org.shardflake.scheme.Schemes;
import org.shardflake.scheme.UniqueIdMode;
import org.shardflake.server.ServerUrl;

/** Generates ids of a scheme, with failures worded for the command line. */
final class SchemeRun {

    private final Scheme scheme;
    private final List<ServerUrl> servers;

    SchemeRun(String name, @Nullable Instant epoch, List<String> urls, Invocation invocation) {
        try {
            Scheme named = Schemes.named(name);
            scheme = epoch == null ? named : named.withEpoch(epoch);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
        servers = urls.stream().map(invocation::url).toList();
    }

    void generate(@Nullable Long worker, int shard, boolean timeSequential, long count, IdPrinter printer) {
        GeneratorSettings settings = GeneratorSettings.DEFAULT
                .withShard(shard)
                .withMode(timeSequential ? UniqueIdMode.TIME_SEQUENTIAL : UniqueIdMode.SPREAD)
                .withDataSources(servers.stream().map(ServerUrl::dataSource).toArray(DataSource[]::new));
        try (IdGenerator ids = begin(worker == null ? settings : settings.withWorker(worker))) {
            while (printer.printed() < count) {
                printer.print(ids.next());
            }
            printer.end();
        } catch (SQLException e) {
            throw stopped(failure(e), printer.printed(), count);
        } catch (ClockWentBackException | ClockStandsException | LeaseLostException e) {
            throw stopped(failure(Kind.FAILURE, e), printer.printed(), count);
        } catch (IllegalArgumentException e) {
            throw stopped(CliException.usage(e), printer.printed(), count);
        }
    }

    private IdGenerator begin(GeneratorSettings settings) throws SQLException {
        try {
            return scheme.generator(settings);
        } catch (NoFreeWorkerException e) {
            throw failure(Kind.PRECONDITION, e);
        }
    }

    private ShardflakeException failure(SQLException e) {
        String state = String.valueOf(e.getSQLState());
        if (servers.size() > 1) {
            return failure(Kind.FAILURE, e);
        }
        return state.startsWith("08") || state.startsWith("28")
                ? ServerFailedException.connecting(servers.get(0), e)
                : ServerFailedException.statement(servers.get(0), e);
    }

    private static CliException failure(Kind kind, Exception e) {
        return new CliException(kind, String.valueOf(e.getMessage()), null, e);
    }

    private static ShardflakeException stopped(ShardflakeException failure, long printed, long count) {
        return printed == 0
                ? failure
                : new CliException(
                        Kind.PARTLY_DONE,
                        "stopped after %s of %s ids: %s".formatted(printed, count, failure.getMessage()),
                        "the ids printed are good",
                        failure);
    }
}
