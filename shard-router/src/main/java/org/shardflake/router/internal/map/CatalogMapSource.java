/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.map;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.catalog.CatalogUnavailableException;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.catalog.MapRevision;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.catalog.ShardMapFile;
import org.shardflake.router.internal.jdbc.ReusedConnection;
import org.shardflake.router.internal.session.RouterLog;
import org.shardflake.server.ServerUrl;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The map of a catalog, followed by LISTEN on its own connection and by polling, and kept while the catalog is down.
 *
 * <p>A notification is only a hint to ask. A lost one costs a poll interval, during which fences refuse writes that go
 * by the old map.
 */
public final class CatalogMapSource implements MapSource {

    private static final Logger LOG = LoggerFactory.getLogger(RouterLog.NAME);
    private static final int CATALOG_TIMEOUT_SECONDS = 5;
    /** The time after a failed request in which other threads do not ask the catalog again. */
    private static final Duration FAILURE_IS_NEWS = Duration.ofSeconds(1);

    /** The time after a failure in which lookups are not requested. The map is, which shows whether the catalog is back. */
    private static final Duration DOWN_FOR = Duration.ofSeconds(10);

    private static final String STANDBY =
            "only a standby of the catalog answers, which may be behind; the primary is asked for again and again";

    private final ServerUrl url;
    private final @Nullable Path cacheFile;
    private final ReusedConnection kept;
    private final ShardCatalog catalog;
    private final MapListener listener;

    /** Held while asking the catalog, so that maps arrive in order. */
    private final ReentrantLock asking = new ReentrantLock();

    private volatile long lastAskStarted = System.nanoTime();

    /** Guards the wait for a newer map. */
    private final ReentrantLock waiting = new ReentrantLock();

    private final Condition newer = waiting.newCondition();

    private volatile ShardMap map;
    private volatile @Nullable MapRevision revision;
    private volatile Consumer<ShardMap> onChange = changed -> {};
    private volatile long lastFailure = System.nanoTime() - FAILURE_IS_NEWS.toNanos();
    private volatile long confirmed = System.nanoTime();
    private volatile @Nullable String problem;
    private volatile boolean closed;

    /**
     * Loads the map, from the catalog or else from the file.
     *
     * @param cacheFile where to keep a copy to start from while the catalog is down, or null for none
     * @throws CatalogUnavailableException if neither gives a map
     */
    public CatalogMapSource(ServerUrl url, Login login, Duration pollInterval, @Nullable Path cacheFile) {
        this.url = url;
        this.cacheFile = cacheFile;
        this.kept = new ReusedConnection(source(url, login));
        this.catalog = ShardCatalog.at(kept, url.toString());
        this.map = loadFirst();
        this.listener = new MapListener(this, url, login, pollInterval);
    }

    /**
     * Begins to follow the catalog.
     *
     * @param onPoll runs now and then while nothing changes; must not throw
     */
    public void start(Consumer<ShardMap> changed, Runnable onPoll) {
        onChange = changed;
        listener.start(onPoll);
    }

    private static PGSimpleDataSource source(ServerUrl url, Login login) {
        PGSimpleDataSource source = login.source(url);
        source.setApplicationName("shardflake router");
        source.setSocketTimeout(CATALOG_TIMEOUT_SECONDS);
        source.setConnectTimeout(CATALOG_TIMEOUT_SECONDS);
        if (source.getServerNames().length > 1) {
            source.setTargetServerType("preferPrimary"); // A standby may lag, but that beats having no map.
        }
        return source;
    }

    private ShardMap loadFirst() {
        try {
            // Read before the map: if the map changes in between, it is read again.
            revision = catalog.revision();
            ShardMap loaded = catalog.load();
            if (kept.isStandby()) {
                return loadedFromStandby(loaded);
            }
            writeCache(loaded);
            return loaded;
        } catch (CatalogUnavailableException e) {
            if (cacheFile == null || !Files.exists(cacheFile)) {
                throw e;
            }
            return readCache(cacheFile, e);
        }
    }

    /** The newer of the standby's map and the cached one. */
    private ShardMap loadedFromStandby(ShardMap loaded) {
        problem = STANDBY;
        LOG.warn("starting with {}: {}", loaded, STANDBY);
        if (cacheFile != null && Files.exists(cacheFile)) {
            try {
                ShardMap cached = ShardMapFile.read(cacheFile);
                return cached.version() > loaded.version() ? cached : loaded;
            } catch (IOException | IllegalArgumentException e) {
                LOG.warn("could not read the copy of the shard map in {}: {}", cacheFile, e.toString());
            }
        }
        return loaded;
    }

    private ShardMap readCache(Path file, CatalogUnavailableException e) {
        try {
            ShardMap cached = ShardMapFile.read(file);
            confirmed = System.nanoTime() - ageOf(file).toNanos();
            problem = e.getMessage();
            LOG.warn("starting with {} from {}: {}", cached, file, e.getMessage());
            return cached;
        } catch (IOException | IllegalArgumentException unreadable) {
            e.addSuppressed(unreadable);
            throw e;
        }
    }

    private static Duration ageOf(Path file) throws IOException {
        return Duration.ofMillis(Math.max(
                0, System.currentTimeMillis() - Files.getLastModifiedTime(file).toMillis()));
    }

    private void writeCache(ShardMap loaded) {
        if (cacheFile == null) {
            return;
        }
        try {
            ShardMapFile.write(loaded, cacheFile);
        } catch (IOException e) {
            LOG.warn("could not keep a copy of the shard map in {}: {}", cacheFile, e.toString());
        }
    }

    @Override
    public ShardMap map() {
        return map;
    }

    @Override
    public void refresh() {
        long called = System.nanoTime();
        if (hasFailedSince(called - FAILURE_IS_NEWS.toNanos()) || !lockToAsk()) {
            return;
        }
        try {
            // Another thread may have asked since.
            if (lastAskStarted - called < 0 && !hasFailedSince(called)) {
                lastAskStarted = System.nanoTime();
                ask();
            }
        } finally {
            asking.unlock();
        }
    }

    /** Whether the catalog has failed to answer since a time, so that asking again would be a waste of time. */
    private boolean hasFailedSince(long time) {
        return problem != null && lastFailure - time > 0;
    }

    private boolean lockToAsk() {
        try {
            return asking.tryLock(FAILURE_IS_NEWS.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void ask() {
        long started = System.nanoTime();
        try {
            if (kept.isStandby()) {
                kept.discard(); // The primary may be back.
            }
            MapRevision now = askRevision();
            long before = map.version();
            if (now.version() >= before && !isSame(now, revision)) {
                accept(catalog.load());
                revision = now;
            }
            if (kept.isStandby()) {
                reportProblem(STANDBY);
                return;
            }
            confirmed = started;
            reportProblem(
                    now.version() < before
                            ? "the catalog went back from version %s to %s; restart the router if that is intended"
                                    .formatted(before, now.version())
                            : null);
        } catch (RuntimeException e) {
            // Whatever the failure is, the router keeps its map and keeps asking.
            kept.discard();
            lastFailure = System.nanoTime();
            reportProblem(String.valueOf(e.getMessage()));
        }
    }

    /**
     * Compares revisions field by field: the first comparison of records takes milliseconds in Java, and this one is made while the application
     * starts.
     */
    private static boolean isSame(MapRevision now, @Nullable MapRevision before) {
        return before != null
                && now.version() == before.version()
                && now.changedAt().equals(before.changedAt());
    }

    /** Asks for the revision, and tries once more on a new connection if the kept one fails, as it may have been cut. */
    private MapRevision askRevision() {
        boolean wasKept = kept.isOpen();
        try {
            return catalog.revision();
        } catch (CatalogUnavailableException e) {
            if (!wasKept) {
                throw e;
            }
            kept.discard();
            return catalog.revision();
        }
    }

    /** Logs a problem when it begins and when it ends, not at every poll. */
    private void reportProblem(@Nullable String now) {
        if (closed) {
            return;
        }
        if (now != null && problem == null) {
            LOG.warn("routing by version {} of the shard map: {}", map.version(), now);
        } else if (now == null && problem != null) {
            LOG.info("the catalog is back; routing by version {} of the shard map", map.version());
        }
        problem = now;
    }

    private void accept(ShardMap loaded) {
        if (loaded.version() < map.version()) {
            return; // This connection led to another server than the last; the next poll shows which map is there.
        }
        if (!loaded.sharding().equals(map.sharding()) || !loaded.layout().equals(map.layout())) {
            throw new ShardflakeException(
                    "the catalog at %s is of another installation: its shard count or epoch differs from this router's map"
                            .formatted(url));
        }
        onChange.accept(loaded);
        map = loaded;
        waiting.lock();
        try {
            newer.signalAll();
        } finally {
            waiting.unlock();
        }
        writeCache(loaded);
        LOG.debug("routing by {}", loaded);
    }

    @Override
    public void hint() {
        listener.wake();
    }

    @Override
    public void awaitNewerThan(long version, Duration timeout) throws InterruptedException {
        long left = timeout.toNanos();
        waiting.lockInterruptibly();
        try {
            while (map.version() <= version && left > 0) {
                left = newer.awaitNanos(left);
            }
        } finally {
            waiting.unlock();
        }
    }

    @Override
    public Duration age() {
        return Duration.ofNanos(System.nanoTime() - confirmed);
    }

    @Override
    public Optional<String> problem() {
        return Optional.ofNullable(problem);
    }

    @Override
    public List<LookupDefinition> lookups() {
        String down = problem;
        if (down != null && hasFailedSince(System.nanoTime() - DOWN_FOR.toNanos())) {
            throw new CatalogUnavailableException(
                    down, new SQLException("the catalog could not be reached a moment ago", "08001"));
        }
        asking.lock();
        try {
            return catalog.lookups();
        } catch (CatalogUnavailableException e) {
            kept.discard(); // It may have been cut since its last use.
            return catalog.lookups();
        } finally {
            asking.unlock();
        }
    }

    @Override
    public void close() {
        closed = true;
        listener.close();
        // A thread still asking finishes within the catalog's time limit, or ends with the process.
        if (lockToAsk()) {
            try {
                kept.discard();
            } finally {
                asking.unlock();
            }
        }
    }
}
