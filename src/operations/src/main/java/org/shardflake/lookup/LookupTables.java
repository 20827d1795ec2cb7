/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.IntConsumer;
import java.util.function.ObjIntConsumer;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.catalog.LookupDefinition.State;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.deploy.DeployReport;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.deploy.OwnTables;
import org.shardflake.deploy.SchemaDeployer;
import org.shardflake.install.Installation;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;

/**
 * Creates lookups, fills them from existing rows, checks them and drops them. {@link org.shardflake.router.Lookup} reads and writes them.
 *
 * <p>Every method that changes a lookup locks out others that do. After an interruption, repeat the call to continue. Thread-safe; holds
 * no connection between calls.
 */
public final class LookupTables {

    /** The time within which every router asks the catalog again. */
    private static final Duration ROUTERS_KNOW = Duration.ofSeconds(15);

    /** The time to wait for the application's open transactions. */
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private static final int THREADS = 4;

    private final ServerUrl catalog;
    private final Function<Server, ServerUrl> urls;
    private final ObjIntConsumer<String> shardDone;

    /** @param urls the URL of a server of the shard map, including what is needed to log in */
    public LookupTables(ServerUrl catalog, Function<Server, ServerUrl> urls) {
        this(catalog, urls, (task, shards) -> {});
    }

    /**
     * @param urls the URL of a server of the shard map, including what is needed to log in
     * @param shardDone told of each shard that a task is done with, and of how many there are; called from several threads
     */
    public LookupTables(ServerUrl catalog, Function<Server, ServerUrl> urls, ObjIntConsumer<String> shardDone) {
        this.catalog = catalog;
        this.urls = urls;
        this.shardDone = shardDone;
    }

    private ShardTask told(String what, int shards, ShardTask task) {
        return shard -> {
            task.run(shard);
            shardDone.accept(what, shards);
        };
    }

    /** The column of a table in the shards whose comment says that it is the shard key, if it can hold a uid. */
    public Optional<String> keyColumn(String table) {
        return Sql.translating(() -> {
            DeployTarget first = new Installation(catalog, urls)
                    .targets(ShardCatalog.at(catalog).load())
                    .get(0);
            return Sql.with(
                    first.url().connect("shardflake lookup"),
                    connection -> SourceColumns.key(connection, first.shards(), table));
        });
    }

    /**
     * Creates a lookup, and its tables in all shards where they are missing. If the lookup has a source, its values have to be brought in
     * afterwards. A lookup of this form that is there stays as it is.
     *
     * @throws ShardflakeException if the lookup exists already in another form, a shard is being moved or lacks the source, or shards could
     *     not be changed
     */
    public LookupDefinition create(LookupPlan plan) throws InterruptedException {
        return Sql.<LookupDefinition, InterruptedException>translating(() -> {
            ShardMap map = ShardCatalog.at(catalog).load();
            try (LookupCatalog its = LookupCatalog.lock(catalog, plan.name())) {
                Optional<LookupDefinition> before = its.find();
                if (before.isPresent() && (before.get().state() == State.DROPPING || !plan.makes(before.get()))) {
                    throw new ShardflakeException(
                            Kind.PRECONDITION,
                            before.get().state() == State.DROPPING
                                    ? "lookup %s is being dropped".formatted(plan.name())
                                    : "lookup %s exists already, with other properties".formatted(plan.name()),
                            Advice.of(
                                    "%s shows it, %s removes it",
                                    CliCommand.LOOKUP_LIST, CliCommand.LOOKUP_DROP.with(plan.name())),
                            null);
                }
                if (before.isPresent() && before.get().state() != State.CREATING) {
                    return before.get();
                }
                List<DeployTarget> targets = new Installation(catalog, urls).targets(map);
                if (plan.source().isPresent()) {
                    SourceColumns.require(plan.source().get(), targets);
                }
                deploy(targets, map, () -> {
                    if (before.isEmpty()) {
                        its.insert(plan, endUnknown());
                    }
                });
                its.set(plan.source().isPresent() ? State.FILLING : State.READY);
                return its.get();
            }
        });
    }

    /**
     * Makes shards refuse lookups that a restored catalog does not know, since a router may still use one. Their values stay, in case a newer
     * catalog turns up.
     *
     * @return the highest number that a shard knows; 0 if there is none
     */
    private int endUnknown() throws SQLException, InterruptedException {
        try (ShardRouter router = router(THREADS)) {
            int shards = router.map().sharding().shardCount();
            UsedNumbers used = new UsedNumbers(router);
            inParallel(shards, THREADS, used::read, () -> {});
            Set<Integer> unknown = new TreeSet<>(used.undropped());
            // The catalog has a lookup before shards have its values.
            ShardCatalog.at(catalog).lookups().forEach(lookup -> unknown.remove(lookup.number()));
            for (int number : unknown) {
                inParallel(shards, THREADS, end(number, router, shards)::await, () -> {});
            }
            return used.highest();
        }
    }

    /** Makes shards refuse claims of a lookup, including those in open transactions. */
    private static Removal end(int number, ShardRouter router, int shards) throws SQLException, InterruptedException {
        Removal removal = new Removal(number, router, PATIENCE);
        inParallel(shards, THREADS, removal::mark, () -> {});
        inParallel(shards, THREADS, removal::decide, () -> {});
        return removal;
    }

    /** Records the lookup when nothing forbids it. */
    @FunctionalInterface
    private interface Recording {
        void run() throws SQLException, InterruptedException;
    }

    private void deploy(List<DeployTarget> targets, ShardMap map, Recording recording)
            throws SQLException, InterruptedException {
        try (SchemaDeployer deployer = SchemaDeployer.prepare(
                OwnTables.LOOKUPS, targets, map.layout(), DeploySettings.defaults(Path.of("")))) {
            int lacking = deployer.pendingShards();
            boolean isThere = lacking == 0;
            if (!isThere) {
                new Installation(catalog, urls).requireUnmoved(targets);
            }
            recording.run();
            if (isThere) {
                return;
            }
            DeployReport report = deployer.deploy(done -> {
                for (int i = 0; i < done; i++) {
                    shardDone.accept("making tables of lookups", lacking);
                }
            });
            if (!report.failures().isEmpty()) {
                throw new ShardflakeException(
                        Kind.PARTLY_DONE,
                        String.format(
                                Locale.ROOT,
                                "%s did not get the tables of lookups: shard %s on %s: %s",
                                Plural.of(report.failures().size(), "shard"),
                                report.failures().get(0).shard(),
                                report.failures().get(0).server(),
                                report.failures().get(0).error()),
                        "run the same command again",
                        null);
            }
        }
    }

    /** All lookups, by name. */
    public List<LookupStatus> list() {
        return Sql.translating(() -> {
            ShardCatalog its = ShardCatalog.at(catalog);
            List<LookupDefinition> lookups = its.lookups();
            int shards = its.load().sharding().shardCount();
            return Sql.with(catalog.connect("shardflake lookup"), connection -> {
                List<LookupStatus> all = new ArrayList<>();
                for (LookupDefinition lookup : lookups) {
                    all.add(LookupCatalog.status(connection, lookup, shards));
                }
                return all;
            });
        });
    }

    /**
     * Drops a lookup with all its values. First it waits until routers know that it is dropped, then for the open transactions that have
     * claimed or released values.
     *
     * @throws ShardflakeException if there is no such lookup, or such a transaction does not end within a minute
     */
    public void drop(String name) throws InterruptedException {
        drop(name, ROUTERS_KNOW);
    }

    void drop(String name, Duration routersKnow) throws InterruptedException {
        Sql.<InterruptedException>translating(() -> {
            try (LookupCatalog its = LookupCatalog.lock(catalog, name)) {
                LookupDefinition lookup = its.get();
                its.set(State.DROPPING);
                Thread.sleep(routersKnow.toMillis());
                try (ShardRouter router = router(THREADS)) {
                    int shards = router.map().sharding().shardCount();
                    Removal removal = end(lookup.number(), router, shards);
                    inParallel(shards, THREADS, told("removing values of shards", shards, removal::delete), () -> {});
                }
                its.delete();
            }
        });
    }

    /**
     * Claims the values of rows that are older than the lookup; afterwards these rows can be found, unless some were refused. The application
     * has to claim the values of rows that it writes by then. Goes on where an interrupted run ended.
     *
     * @param done receives the number of rows just done; called from several threads
     * @throws ShardflakeException if there is no such lookup, or no column has its values
     */
    public BackfillReport backfill(String name, BackfillSettings settings, IntConsumer done)
            throws InterruptedException {
        return Sql.<BackfillReport, InterruptedException>translating(() -> {
            try (LookupCatalog its = LookupCatalog.lock(catalog, name);
                    ShardRouter router = router(settings.threads())) {
                LookupDefinition lookup = usable(its.get());
                LookupDefinition.Source source = lookup.source()
                        .orElseThrow(() -> new ShardflakeException(
                                Kind.USAGE,
                                "lookup %s has no source, so its values are only in the application".formatted(name),
                                "claim them there",
                                null));
                int shards = router.map().sharding().shardCount();
                if (its.status(lookup, shards).filledShards() == shards) {
                    its.forgetProgress(lookup.number());
                }
                Backfill backfill = new Backfill(
                        its, lookup, source, router, new OpenWriters(router, PATIENCE), settings.rowsPerSecond(), done);
                inParallel(shards, settings.threads(), told("filling shards", shards, backfill::run), backfill::stop);
                LookupStatus status = its.status(lookup, shards);
                if (status.refused() == 0 && lookup.state() == State.FILLING) {
                    its.set(State.READY);
                }
                return new BackfillReport(status.claimed(), status.refused(), backfill.reasons());
            }
        });
    }

    private static LookupDefinition usable(LookupDefinition lookup) {
        if (lookup.state() == State.FILLING || lookup.state() == State.READY) {
            return lookup;
        }
        throw new ShardflakeException(
                Kind.PRECONDITION,
                "lookup %s is %s".formatted(lookup.name(), lookup.state()),
                Advice.of(
                        "run %s again",
                        (lookup.state() == State.CREATING ? CliCommand.LOOKUP_CREATE : CliCommand.LOOKUP_DROP)
                                .with(lookup.name())),
                null);
    }

    /**
     * Compares a lookup with its rows in both directions, while the application writes. Changes nothing. A failure is thrown only if no
     * difference was found before.
     *
     * @param threads how many shards to compare at a time: 1 or more
     */
    public LookupCheck verify(String name, int threads) throws InterruptedException {
        return Sql.<LookupCheck, InterruptedException>translating(() -> {
            try (LookupCatalog its = LookupCatalog.lock(catalog, name);
                    ShardRouter router = router(threads)) {
                Verification verification = new Verification(usable(its.get()), router, ShardCatalog.at(catalog));
                try {
                    int shards = router.map().sharding().shardCount();
                    inParallel(shards, threads, told("comparing shards", shards, verification::run), () -> {});
                    return verification.result(Optional.empty());
                } catch (SQLException | ShardflakeException e) {
                    LookupCheck found = verification.result(Optional.of(String.valueOf(e.getMessage())));
                    if (found.differing() == 0) {
                        throw e;
                    }
                    return found;
                }
            }
        });
    }

    @FunctionalInterface
    private interface ShardTask {
        void run(int shard) throws SQLException;
    }

    /** Runs tasks in parallel; throws the first failure once all threads have ended. */
    private static void inParallel(int shards, int threads, ShardTask task, Runnable stop)
            throws SQLException, InterruptedException {
        AtomicInteger next = new AtomicInteger();
        AtomicBoolean failed = new AtomicBoolean();
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Callable<Boolean>> workers = Collections.nCopies(threads, () -> {
                try {
                    for (int shard = next.getAndIncrement();
                            shard < shards && !failed.get();
                            shard = next.getAndIncrement()) {
                        task.run(shard);
                    }
                    return true;
                } finally {
                    if (next.get() < shards) {
                        failed.set(true);
                        stop.run();
                    }
                }
            });
            for (Future<Boolean> worker : pool.invokeAll(workers)) {
                worker.get();
            }
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SQLException sql) {
                throw sql;
            }
            if (e.getCause() instanceof RuntimeException unchecked) {
                throw unchecked;
            }
            throw new IllegalStateException("a lookup's thread failed", e.getCause());
        } finally {
            stop.run();
            pool.shutdownNow();
        }
    }

    /** A router to all servers, with this user. */
    private ShardRouter router(int threads) {
        return ShardRouter.builder()
                .catalog(catalog.pinned())
                .poolSize(threads)
                .customizePools((server, config) -> {
                    PGSimpleDataSource source = urls.apply(server).pinned().dataSource();
                    if (source.getServerNames().length > 1) {
                        source.setTargetServerType("primary");
                    }
                    source.setApplicationName("shardflake lookup");
                    config.setDataSource(source);
                })
                .build();
    }
}
