/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.watch;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.adopt.AdoptionStatus;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import org.shardflake.move.OpenAdoptions;
import org.shardflake.move.OpenAdoptions.OpenAdoption;
import org.shardflake.restore.RestorePoint;
import org.shardflake.restore.RestorePoints;
import org.shardflake.server.ServerUrl;

/**
 * Takes snapshots of the catalog and all servers on request. Keeps one connection to each server, which it asks in one round trip; changes nothing.
 *
 * <p>A look takes a bounded time: whoever has not answered by then is left out. Thread-safe; one look at a time.
 */
public final class Watch implements AutoCloseable {

    /** The time that a snapshot waits for the catalog and the servers. */
    public static final Duration PATIENCE = Duration.ofSeconds(4);

    private final ServerUrl catalogUrl;
    private final ShardCatalog catalog;
    private final RestorePoints points;
    private final Function<Server, ServerUrl> urls;
    private final Function<String, ServerUrl> oldDatabases;
    private final Consumer<String> told;
    private final ExecutorService threads = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "shardflake watch");
        thread.setDaemon(true);
        return thread;
    });
    private final Map<Server, ServerProbe> eyes = new HashMap<>();
    private final Set<String> silent = new HashSet<>();
    private boolean isToldOfStandby;
    private volatile boolean hasReadStandby;
    private Known known;
    private @Nullable Future<Known> asked;
    private @Nullable Future<List<AdoptionStatus>> askedOldDatabases;

    /** What the catalog reported. */
    private record Known(
            ShardMap map,
            List<Move> moves,
            List<OpenAdoption> adoptions,
            Optional<Instant> restorePoint,
            boolean isOfStandby) {}

    /**
     * Watches the catalog, or a standby of it if no primary answers.
     *
     * @param urls the URL of a server of the shard map, including what is needed to log in
     * @param oldDatabases likewise of a database that is being adopted, by its URL without a password
     * @param told who hears it when the catalog or a server does not answer any more, and when it does again
     * @throws ShardflakeException if the catalog cannot be read
     */
    public Watch(
            ServerUrl catalog,
            Function<Server, ServerUrl> urls,
            Function<String, ServerUrl> oldDatabases,
            Consumer<String> told) {
        this.oldDatabases = oldDatabases;
        this.catalogUrl = catalog.toRead(() -> hasReadStandby = true);
        this.catalog = ShardCatalog.at(catalogUrl);
        this.points = new RestorePoints(catalogUrl, urls);
        this.urls = urls;
        this.told = told;
        this.known = readCatalog();
    }

    /**
     * Watches the catalog, or a standby of it, with other URLs for the servers. Databases that are being adopted have all in their URLs that is
     * needed to log in.
     */
    public Watch(ServerUrl catalog, Function<Server, ServerUrl> urls, Consumer<String> told) {
        this(catalog, urls, ServerUrl::parse, told);
    }

    private Known readCatalog() {
        hasReadStandby = false;
        ShardMap map = catalog.load();
        List<Move> moves = Mover.moves(catalogUrl);
        List<OpenAdoption> adoptions = new OpenAdoptions(catalogUrl).list();
        Optional<Instant> restorePoint = points.newest().map(RestorePoint::begunAt);
        return new Known(map, moves, adoptions, restorePoint, hasReadStandby);
    }

    private void tellWhether(boolean isStandby) {
        if (isStandby != isToldOfStandby) {
            isToldOfStandby = isStandby;
            told.accept(
                    isStandby
                            ? "only a standby of the catalog answers: what it says may be old"
                            : "the catalog's primary answers again");
        }
    }

    /** Takes one snapshot. */
    public synchronized InstallationSnapshot look() throws InterruptedException {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        Future<Known> catalogAnswer = askCatalog();
        Map<Server, Future<ServerSnapshot>> answers = askServers();
        Future<List<AdoptionStatus>> adoptionsAnswer = askOldDatabases();
        Known before = known;
        boolean catalogAnswers = await("the catalog", catalogUrl, catalogAnswer, deadline)
                .map(answer -> known = answer)
                .isPresent();
        if (catalogAnswers) {
            tellWhether(known.isOfStandby());
        }
        Map<String, ServerSnapshot> servers = new LinkedHashMap<>();
        for (Map.Entry<Server, Future<ServerSnapshot>> answer : answers.entrySet()) {
            String server = answer.getKey().name();
            ServerUrl url = eye(answer.getKey()).url();
            Optional<ServerSnapshot> seen = await("server " + server, url, answer.getValue(), deadline);
            if (seen.isPresent()) {
                servers.put(server, seen.get());
            } else if (!answer.getValue().isDone()) {
                eye(answer.getKey()).abort();
            }
        }
        List<AdoptionStatus> adoptions = known.adoptions().isEmpty()
                ? List.of()
                : await("a database that is being adopted", catalogUrl, adoptionsAnswer, deadline)
                        .orElse(List.of());
        return new InstallationSnapshot(
                Instant.now(),
                catalogAnswers,
                catalogAnswers && known.isOfStandby(),
                known.map(),
                known.moves(),
                adoptions,
                moving(before, known),
                known.restorePoint(),
                servers);
    }

    /** Reads the catalog, with one query at a time, so that a catalog that hangs gets no more of them. */
    private Future<Known> askCatalog() {
        Future<Known> last = asked;
        if (last == null || last.isDone()) {
            last = threads.submit(this::readCatalog);
            asked = last;
        }
        return last;
    }

    /** Reads the adoptions of the last snapshot from their old databases, with one query at a time. */
    private Future<List<AdoptionStatus>> askOldDatabases() {
        Future<List<AdoptionStatus>> last = askedOldDatabases;
        if (last == null || last.isDone()) {
            List<OpenAdoption> adoptions = known.adoptions();
            last = threads.submit(() -> AdoptionStatus.of(adoptions, oldDatabases));
            askedOldDatabases = last;
        }
        return last;
    }

    private Map<Server, Future<ServerSnapshot>> askServers() {
        forgetOthers(Set.copyOf(known.map().servers()));
        Map<Server, Future<ServerSnapshot>> answers = new LinkedHashMap<>();
        for (Server server : known.map().servers()) {
            ServerProbe eye = eye(server);
            answers.put(server, threads.submit(() -> {
                if (!eye.begin()) {
                    throw new SQLException("it has not answered for %s s".formatted(PATIENCE.toSeconds()));
                }
                return eye.look();
            }));
        }
        return answers;
    }

    private ServerProbe eye(Server server) {
        return eyes.computeIfAbsent(
                server,
                added -> new ServerProbe(
                        urls.apply(added), known.map().layout().epoch().toEpochMilli()));
    }

    /** Closes the connections to servers that were removed or have another URL now. */
    private void forgetOthers(Set<Server> servers) {
        Iterator<Map.Entry<Server, ServerProbe>> eye = eyes.entrySet().iterator();
        while (eye.hasNext()) {
            Map.Entry<Server, ServerProbe> each = eye.next();
            if (!servers.contains(each.getKey())) {
                each.getValue().end();
                eye.remove();
            }
        }
    }

    private <T> Optional<T> await(String who, ServerUrl url, Future<T> answer, long deadline)
            throws InterruptedException {
        try {
            T said = answer.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
            if (silent.remove(who)) {
                told.accept(who + " answers again");
            }
            return Optional.of(said);
        } catch (TimeoutException e) {
            tell(who, "%s: no answer within %s s".formatted(url.hosts(), PATIENCE.toSeconds()));
        } catch (ExecutionException e) {
            tell(who, Sql.why(url, e.getCause() == null ? e : e.getCause()));
        }
        return Optional.empty();
    }

    private void tell(String who, String why) {
        if (silent.add(who)) {
            told.accept("%s does not answer: %s".formatted(who, why));
        }
    }

    private static ShardSet moving(Known before, Known now) {
        Set<Integer> moving = new HashSet<>();
        for (Known each : List.of(before, now)) {
            each.moves().forEach(move -> move.shardSet().stream().forEach(moving::add));
        }
        for (int shard = 0; shard < now.map().sharding().shardCount(); shard++) {
            if (isPlacedAnew(before.map().placement(shard), now.map().placement(shard))) {
                moving.add(shard);
            }
        }
        return ShardSet.of(moving);
    }

    /** Whether a shard was placed again, even on the same server; false if only its server's URL or label has changed. */
    private static boolean isPlacedAnew(ShardPlacement before, ShardPlacement now) {
        return before.epoch() != now.epoch()
                || !before.server().name().equals(now.server().name());
    }

    @Override
    public synchronized void close() {
        threads.shutdownNow();
        eyes.values().forEach(ServerProbe::end);
        eyes.clear();
    }
}
