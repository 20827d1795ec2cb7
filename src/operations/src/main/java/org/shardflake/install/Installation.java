/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.install;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.DeployedLayout;
import org.shardflake.IdLayout;
import org.shardflake.LibraryNotDeployedException;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.catalog.CatalogMissingException;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.changes.ChangeStream;
import org.shardflake.changes.ServerStream;
import org.shardflake.deploy.DeployRefusedException;
import org.shardflake.deploy.DeployReport;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.deploy.Follower;
import org.shardflake.deploy.SchemaDeployer;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.FollowedMoves;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MovePhase;
import org.shardflake.move.Mover;
import org.shardflake.move.Split;
import org.shardflake.move.SplitPhase;
import org.shardflake.move.server.MoveServer;
import org.shardflake.reference.ReferenceTables;
import org.shardflake.server.ServerUrl;
import org.shardflake.split.Splitter;
import org.shardflake.sql.CatalogSchema;
import org.shardflake.sql.FunctionLibrary;
import org.shardflake.sql.InstallationIdentity;

/**
 * A catalog and the servers of its shard map: sets them up, adds servers, and deploys the shards' schema. After an interruption,
 * repeat the call to continue. Thread-safe; holds no connection between calls.
 *
 * <p>All methods throw {@link ServerFailedException} if a server cannot be reached, fails, or has a newer Shardflake's SQL.
 */
public final class Installation {

    private final ServerUrl catalog;
    private final Function<Server, ServerUrl> urls;

    /**
     * @param catalog the database that has the catalog, or will have it
     * @param urls the URL of a server of the shard map, including what is needed to log in
     */
    public Installation(ServerUrl catalog, Function<Server, ServerUrl> urls) {
        this.catalog = catalog;
        this.urls = urls;
    }

    /** An installation whose servers are at the shard map's URLs. */
    public static Installation at(ServerUrl catalog) {
        return new Installation(catalog, server -> ServerUrl.parse(server.url()));
    }

    /**
     * Checks that {@link #create} could set this map up. Changes nothing.
     *
     * @throws ShardflakeException if there is a shard map already
     * @throws org.shardflake.LayoutMismatchException if a server makes ids of another layout
     */
    public void check(ShardMap map) {
        check(map, false);
    }

    /**
     * Like {@link #check(ShardMap)}, for {@link #create(ShardMap, String, boolean)}.
     *
     * @return the installation to which all of the servers belong, if any
     */
    public Optional<InstallationIdentity> check(ShardMap map, boolean catalogLost) {
        requireNoMap();
        run(catalog, CatalogSchema::check);
        Set<InstallationIdentity> remembered = new HashSet<>();
        for (Server server : map.servers()) {
            check(server, map.layout());
            run(urls.apply(server), connection -> {
                InstallationIdentity.ofServer(connection).ifPresent(remembered::add);
                if (!catalogLost) {
                    ServerIdentities.requireUnused(connection, server.name());
                }
            });
        }
        if (remembered.isEmpty()) {
            return Optional.empty();
        }
        InstallationIdentity one = remembered.iterator().next();
        int shards = map.sharding().shardCount();
        if (!catalogLost || remembered.size() > 1 || one.shardCount() != shards) {
            throw new ShardflakeException(
                    ShardflakeException.Kind.PRECONDITION,
                    "there are servers of other installations among these: %s. Nothing was changed"
                            .formatted(remembered.stream()
                                    .map(InstallationIdentity::toString)
                                    .sorted()
                                    .collect(Collectors.joining(", "))),
                    remembered.size() == 1
                            ? Advice.of(
                                    "give the URLs of other servers; or, if the catalog of that installation is lost for good, %s with all of its servers, and then do what %s says",
                                    CliCommand.INIT_CATALOG_LOST.with(one.shardCount()), CliCommand.DOCTOR)
                            : "give the URLs of other servers",
                    null);
        }
        return Optional.of(one);
    }

    /** Deploys the function library to every server of this map and the catalog to its database, and records the map. */
    public ShardMap create(ShardMap map, String reason) {
        return create(map, reason, false);
    }

    /**
     * Like {@link #create(ShardMap, String)}.
     *
     * @param catalogLost whether the servers may be those of one installation whose catalog is lost: then the new catalog takes its place
     */
    public ShardMap create(ShardMap map, String reason, boolean catalogLost) {
        Optional<InstallationIdentity> before = check(map, catalogLost);
        map.servers().forEach(server -> deployLibrary(server, map.layout()));
        deployCatalog();
        ShardMap created = ShardCatalog.at(catalog).initialize(map, reason);
        if (before.isPresent()) {
            run(catalog, connection -> before.get().recordInCatalog(connection));
            return ShardCatalog.at(catalog).load();
        }
        remember(created);
        return created;
    }

    /** The installation's identity; empty if the catalog is of an older version. */
    public Optional<InstallationIdentity> identity() {
        List<InstallationIdentity> found = new ArrayList<>();
        run(catalog, connection -> InstallationIdentity.ofCatalog(connection).ifPresent(found::add));
        return found.stream().findFirst();
    }

    /**
     * Records the installation on the servers, unless they have shards that the map does not give them.
     *
     * @return the servers that do not remember it now
     */
    public List<String> remember(ShardMap map) {
        List<String> left = new ArrayList<>();
        identity()
                .ifPresent(own -> map.servers()
                        .forEach(server -> run(urls.apply(server), connection -> {
                            if (!ServerIdentities.remember(connection, server.name(), map, own)) {
                                left.add(server.name());
                            }
                        })));
        return left;
    }

    /**
     * Refuses a server that belongs to another installation.
     *
     * @throws ShardflakeException if the server remembers one
     */
    public void requireOwn(Server server) {
        requireOwn(List.of(new DeployTarget(server.name(), urls.apply(server), ShardSet.of())));
    }

    private void requireOwn(List<DeployTarget> targets) {
        identity()
                .ifPresent(own -> targets.forEach(target -> run(
                        target.url(), connection -> ServerIdentities.requireOwn(connection, target.server(), own))));
    }

    private void requireNoMap() {
        ShardCatalog existing = ShardCatalog.at(catalog);
        long version;
        try {
            version = existing.version();
        } catch (CatalogMissingException e) {
            return;
        }
        throw new ShardflakeException(
                ShardflakeException.Kind.PRECONDITION,
                "%s has a shard map already, at version %s".formatted(existing, version),
                Advice.of("show it with %s, add a server with %s", CliCommand.MAP_SHOW, CliCommand.SERVER_ADD),
                null);
    }

    /**
     * Checks that {@link #add} could deploy the function library to a server and record it. Changes nothing.
     *
     * @throws ShardflakeException if the catalog is of an older version, which keeps no application URLs
     * @throws org.shardflake.LayoutMismatchException if it makes ids with another layout
     */
    public void check(Server server, IdLayout layout) {
        ShardCatalog.at(catalog).requireKeeps(server);
        try {
            requireLibrary(server, layout);
        } catch (LibraryNotDeployedException e) {
            // Then only its deployment is missing.
        }
        run(urls.apply(server), connection -> FunctionLibrary.check(connection, layout.epochMillis()));
    }

    /**
     * Checks that {@link #add} could add a server to this installation. Changes nothing.
     *
     * @throws ShardflakeException if it belongs to another installation, or has shards of which nobody knows whose they are
     */
    public void checkNew(Server server, IdLayout layout) {
        check(server, layout);
        requireOwn(server);
        boolean publishes = changes().isAnywhere(ShardCatalog.at(catalog).load());
        run(urls.apply(server), connection -> {
            ServerIdentities.requireUnused(connection, server.name());
            if (publishes) {
                new ServerStream(server.name(), connection).requireDecoding();
            }
        });
    }

    private ChangeStream changes() {
        return new ChangeStream(catalog, urls, waited -> {});
    }

    /**
     * Deploys the function library to a server and adds it to the shard map, without shards but with the reference tables, and the change stream's
     * publication if there is one.
     */
    public ShardMap add(Server server, String reason) {
        ShardCatalog existing = ShardCatalog.at(catalog);
        ShardMap before = existing.load();
        IdLayout layout = before.layout();
        checkNew(server, layout);
        deployLibrary(server, layout);
        if (changes().isAnywhere(before)) {
            changes().create(before, server);
        }
        ShardMap map = existing.addServer(server, reason);
        identity()
                .ifPresent(own -> run(
                        urls.apply(server),
                        connection -> ServerIdentities.remember(connection, server.name(), map, own)));
        try {
            referenceTables(map).add(server.name());
        } catch (ShardflakeException e) {
            throw new ShardflakeException(
                    ShardflakeException.Kind.FAILURE,
                    "server %s is in the shard map, but has not all reference tables: %s"
                            .formatted(server.name(), e.getMessage()),
                    Advice.of("%s brings them; move no shard there before", CliCommand.REFERENCE_REPAIR),
                    e);
        }
        return map;
    }

    /** The reference tables of all servers of a map. */
    public ReferenceTables referenceTables(ShardMap map) {
        return new ReferenceTables(catalog, urls(map));
    }

    /**
     * Checks that a server creates ids with this layout.
     *
     * @throws org.shardflake.LayoutMismatchException if it makes ids with another epoch
     * @throws LibraryNotDeployedException if it makes no ids
     */
    public void requireLibrary(Server server, IdLayout layout) {
        run(urls.apply(server), connection -> DeployedLayout.require(connection, layout));
    }

    /** All shards of a map, by server. */
    public List<DeployTarget> targets(ShardMap map) {
        return map.servers().stream()
                .map(server -> new DeployTarget(server.name(), urls.apply(server), map.shards(server)))
                .filter(target -> !target.shards().isEmpty())
                .toList();
    }

    /**
     * Deploys a Liquibase changelog to all shards, after every check.
     *
     * @param done receives the number of shards just done
     * @throws DeployRefusedException if the changelog or the state of a shard forbids it; no shard was changed
     * @throws ShardflakeException if a shard is being moved and its copy does not follow yet; no shard was changed
     */
    public DeployReport deploy(Path changelog, DeploySettings settings, IntConsumer done) throws InterruptedException {
        ShardMap map = ShardCatalog.at(catalog).load();
        List<DeployTarget> targets = targets(map);
        try (SchemaDeployer deployer = SchemaDeployer.prepare(
                changelog,
                targets,
                map.layout(),
                settings.withChecks(settings.checks().in(map.sharding().shardCount())))) {
            try (FollowedMoves moves = holdMoves(deployer, targets, what -> {})) {
                deployer.checkCreation(urls(map), ShardSet.of());
                DeployReport report = deployer.deploy(done);
                remember(map);
                return report;
            }
        }
    }

    /** The URLs of a map's servers, by name. */
    public Map<String, ServerUrl> urls(ShardMap map) {
        Map<String, ServerUrl> named = new LinkedHashMap<>();
        map.servers().forEach(server -> named.put(server.name(), urls.apply(server)));
        return named;
    }

    /**
     * Refuses shards whose schema must not change at present. Call this while a {@link SchemaDeployer} or {@link
     * org.shardflake.deploy.SchemaChecks} holds the servers' deploy locks: a move that begins later waits for them.
     *
     * @throws ShardflakeException if a server is another installation's, or a shard is being moved, or has moved since the targets were
     *     chosen
     */
    public void requireUnmoved(List<DeployTarget> targets) {
        requireOwn(targets);
        for (Move move : Mover.moves(catalog)) {
            ShardSet moving = moving(move, targets);
            if (!moving.isEmpty()) {
                throw new ShardflakeException(
                        ShardflakeException.Kind.PRECONDITION,
                        "%s being moved by move %s, so the schema must not change there"
                                .formatted(Plural.shards(moving, "is", "are"), move.id()),
                        Advice.of("name the other shards, or wait until the move is done: %s", CliCommand.MOVE_STATUS),
                        null);
            }
        }
        requireInPlace(targets);
    }

    private static ShardSet moving(Move move, List<DeployTarget> targets) {
        return ShardSet.of(move.shardSet().stream()
                .filter(shard ->
                        targets.stream().anyMatch(target -> target.shards().contains(shard)))
                .toArray());
    }

    /**
     * Locks the moves of shards with pending changesets, so that each of these shards is deployed together with its copy. Otherwise like {@link
     * #requireUnmoved}.
     *
     * @param voice gets what is waited for
     * @return what the caller closes when the deployment is done
     * @throws ShardflakeException if a shard needs something and has no copy that follows it, or another command works on its move
     */
    public FollowedMoves holdMoves(SchemaDeployer deployer, List<DeployTarget> targets, Consumer<String> voice) {
        Map<String, ServerUrl> named = urls(ShardCatalog.at(catalog).load());
        Function<String, MoveServer> servers = name -> new MoveServer(name, Objects.requireNonNull(named.get(name)));
        FollowedMoves held = new FollowedMoves(catalog, servers, new MoveListener() {
            @Override
            public void waits(String what) {
                voice.accept(what);
            }
        });
        try {
            Map<Move, ShardSet> pending = awaitFollowing(deployer, targets, named, voice);
            pending.forEach((move, shards) ->
                    held.hold(move.id(), shards, (its, follower) -> follow(deployer, targets, its, follower)));
            for (Move move : Mover.moves(catalog)) {
                boolean isOver = pending.keySet().stream().anyMatch(its -> its.id() == move.id())
                        || move.phase() != MovePhase.FOLLOWING
                        || moving(move, targets).isEmpty();
                if (!isOver && FollowedMoves.isUnfinished(move, servers)) {
                    held.finish(move.id());
                }
            }
            requireInPlace(targets);
            return held;
        } catch (RuntimeException e) {
            held.close();
            throw e;
        }
    }

    /**
     * Plans what {@link #holdMoves} would deploy, without locking a move.
     *
     * @throws ShardflakeException if a shard needs something and has no copy that follows it
     */
    public void planMoves(SchemaDeployer deployer, List<DeployTarget> targets) {
        Map<String, ServerUrl> named = urls(ShardCatalog.at(catalog).load());
        Map<Move, ShardSet> pending = pendingMoves(deployer, targets, named);
        pending.forEach(Installation::requireFollowing);
        pending.forEach((move, shards) -> targets.forEach(target -> {
            ShardSet its = shards.and(target.shards());
            if (!its.isEmpty()) {
                String copies = copies(move, target);
                deployer.plan(its, target.server(), FollowedMoves.planned(move, copies));
            }
        }));
        requireInPlace(targets);
    }

    private static void follow(
            SchemaDeployer deployer, List<DeployTarget> targets, ShardSet shards, Follower.Held follower) {
        targets.stream()
                .filter(target -> target.shards().and(shards).equals(shards))
                .forEach(target -> deployer.follow(shards, target.server(), follower));
    }

    private static String copies(Move move, DeployTarget target) {
        return target.server().equals(move.source()) ? move.target() : move.source();
    }

    /** Waits until the copies of moving shards with pending changesets follow, and returns the moves with these shards. */
    private Map<Move, ShardSet> awaitFollowing(
            SchemaDeployer deployer, List<DeployTarget> targets, Map<String, ServerUrl> named, Consumer<String> voice) {
        return Sql.translating(() -> {
            Map<Move, ShardSet> pending = new LinkedHashMap<>();
            Poll.Reason reason = () -> pending.entrySet().stream()
                    .filter(its -> its.getKey().phase() != MovePhase.FOLLOWING)
                    .map(its -> "%s deployed when all copies follow; move %s is %s"
                            .formatted(
                                    Plural.shards(its.getValue(), "is", "are"),
                                    its.getKey().id(),
                                    its.getKey().phase()))
                    .collect(Collectors.joining("; "));
            Poll.everyMillis(200, deployer.patience())
                    .until(
                            () -> {
                                pending.clear();
                                pending.putAll(pendingMoves(deployer, targets, named));
                                // A move that is still prepared waits for the locks of this deployment.
                                return pending.keySet().stream()
                                        .allMatch(move -> move.phase() != MovePhase.COPYING
                                                && move.phase() != MovePhase.CATCHING_UP);
                            },
                            reason,
                            voice);
            pending.forEach(Installation::requireFollowing);
            return pending;
        });
    }

    /**
     * The shards with pending changesets, on either side, by move. Where a move ends, the shards are where they stay, and need no copy: those
     * are being removed.
     */
    private Map<Move, ShardSet> pendingMoves(
            SchemaDeployer deployer, List<DeployTarget> targets, Map<String, ServerUrl> named) {
        requireOwn(targets);
        Map<Move, ShardSet> pending = new LinkedHashMap<>();
        for (Move move : Mover.moves(catalog)) {
            if (move.phase() == MovePhase.COMPLETING || move.phase() == MovePhase.CANCELLING) {
                continue;
            }
            boolean follows = move.phase() == MovePhase.FOLLOWING;
            List<Integer> needing = new ArrayList<>();
            for (DeployTarget target : targets) {
                ShardSet its = moving(move, List.of(target));
                if (its.isEmpty()) {
                    continue;
                }
                Optional<String> copies = follows ? Optional.of(copies(move, target)) : Optional.empty();
                copies.ifPresent(server -> {
                    ServerUrl url = Objects.requireNonNull(named.get(server));
                    requireOwn(List.of(new DeployTarget(server, url, its)));
                    deployer.addCopies(server, url);
                });
                deployer.pending(its, target.server(), copies).stream().forEach(needing::add);
            }
            if (!needing.isEmpty()) {
                pending.put(move, ShardSet.of(needing));
            }
        }
        return pending;
    }

    private static void requireFollowing(Move move, ShardSet shards) {
        if (move.phase() != MovePhase.FOLLOWING) {
            throw new ShardflakeException(
                    ShardflakeException.Kind.PRECONDITION,
                    "%s being moved by move %s, which is %s, so the schema must not change there"
                            .formatted(Plural.shards(shards, "is", "are"), move.id(), move.phase()),
                    Advice.of(
                            "wait until the copies follow, as %s shows, or name the other shards; or give the move up with %s, and begin it after the deployment",
                            CliCommand.MOVE_STATUS_WATCH, move.cancelCommand()),
                    null);
        }
    }

    private void requireInPlace(List<DeployTarget> targets) {
        for (Split split : Splitter.splits(catalog)) {
            if (split.phase() != SplitPhase.MOVING
                    && targets.stream().anyMatch(target -> target.server().equals(split.source()))) {
                throw new ShardflakeException(
                        ShardflakeException.Kind.PRECONDITION,
                        "%s is being split by its standby, so its schema must not change".formatted(split.source()),
                        Advice.of(
                                "run %s again, or give it up with %s",
                                CliCommand.SERVER_SPLIT.with(split.source()),
                                CliCommand.SERVER_SPLIT_CANCEL.with(split.source())),
                        null);
            }
        }
        ShardMap now = ShardCatalog.at(catalog).load();
        for (DeployTarget target : targets) {
            if (!target.shards().stream()
                    .allMatch(shard -> now.server(shard).name().equals(target.server()))) {
                throw new ShardflakeException(
                        ShardflakeException.Kind.PRECONDITION,
                        "shards of %s have been moved just now; no shard was changed".formatted(target.server()),
                        "run the same command again",
                        null);
            }
        }
    }

    /** Deploys the catalog's schema, or upgrades it. */
    public void deployCatalog() {
        run(catalog, CatalogSchema::deploy);
    }

    /**
     * Prepares an upgrade of the catalog and of the function library on every server. Changes nothing; the caller closes it.
     *
     * @throws ShardflakeException if a server cannot be reached, has another epoch, or is worked on by another command
     */
    public Upgrade upgrade() {
        return Upgrade.prepare(catalog, urls);
    }

    private void deployLibrary(Server server, IdLayout layout) {
        run(urls.apply(server), connection -> FunctionLibrary.deploy(connection, layout.epochMillis()));
    }

    private static void run(ServerUrl server, ServerWork.Task task) {
        try (ServerWork work = ServerWork.connect(server)) {
            work.run(task);
        }
    }
}
