/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.PROBLEM;
import static org.shardflake.doctor.Severity.WARNING;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.doctor.StaleMoves.Stale;
import org.shardflake.doctor.Verdict.Doubtful;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.Move;
import org.shardflake.move.MovePhase;
import org.shardflake.move.Mover;
import org.shardflake.move.RestoredCatalog;
import org.shardflake.move.RestoredCatalog.Counted;
import org.shardflake.replication.WorkerSettings;
import org.shardflake.server.KeptSessions;
import org.shardflake.server.PoolerException;
import org.shardflake.server.ServerUrl;
import org.shardflake.server.StandbyException;
import org.shardflake.split.Splitter;
import org.shardflake.sql.CatalogSchema;
import org.shardflake.sql.InstallationIdentity;

/** Examines the servers of a shard map while they are in use. */
public final class Doctor {

    private static final int LOOKS = 10;

    /** PostgreSQL's errors for a relation that is gone, by name or OID; a session dropping it may also hold the lock. */
    private static final Set<String> DROPPED_MEANWHILE = Set.of("42P01", "XX000", "40P01", "55P03");

    private final KeptSessions sessions = new KeptSessions();
    private final ShardCatalog catalog;
    private final ServerUrl catalogUrl;
    private final Mover mover;
    private final DoctorConnections access;
    private final Map<String, ServerUrl> urls;
    private final Map<String, ServerUrl> applicationUrls;
    private final Set<String> forgotten;
    private boolean mapInDoubt;

    /**
     * @param urls the URLs of the map's servers, including what is needed to log in
     * @param mover settles moves that were interrupted
     */
    public Doctor(ServerUrl catalog, Map<String, ServerUrl> urls, Mover mover) {
        this(catalog, urls, Map.of(), mover, Set.of(), ServerUrl::parse);
    }

    /**
     * @param applicationUrls the URLs for applications of those servers that have one
     * @param forgotten tags of moves that the catalog does not know but the operator declares ended
     * @param oldDatabases how to reach a database that is being adopted, by its URL without a password
     */
    public Doctor(
            ServerUrl catalog,
            Map<String, ServerUrl> urls,
            Map<String, ServerUrl> applicationUrls,
            Mover mover,
            Set<String> forgotten,
            Function<String, ServerUrl> oldDatabases) {
        this.applicationUrls = applicationUrls;
        this.forgotten = forgotten;
        this.catalogUrl = catalog.keeping(sessions);
        this.catalog = ShardCatalog.at(catalogUrl);
        this.mover = mover;
        Map<String, ServerUrl> kept = new LinkedHashMap<>();
        urls.forEach((server, url) -> kept.put(server, url.keeping(sessions)));
        this.urls = kept;
        this.access = new DoctorConnections(catalogUrl, kept, oldDatabases);
    }

    /** Runs all examinations. Takes seconds per server; servers are queried in parallel. */
    public List<Finding> examine() throws InterruptedException {
        return inKeptSessions(() -> {
            List<Finding> findings = new ArrayList<>();
            ObservedState observed = ask(findings);
            addOwnership(observed, findings);
            findings.addAll(ServerFindings.of(observed, access));
            addWorkerSettings(observed, findings);
            findings.addAll(ApplicationUrlFindings.of(observed, applicationUrls));
            findings.addAll(HostFindings.of(urls));
            findings.addAll(ReplicationFindings.of(observed, access));
            findings.addAll(PasswordFindings.of(observed, access));
            findings.addAll(ChangeStreamFindings.of(observed, access));
            findings.addAll(TableFindings.of(observed, access));
            findings.addAll(ReferenceFindings.of(catalogUrl, urls));
            findings.addAll(GatewayFindings.of(catalogUrl, observed, access));
            findings.addAll(AdoptionFindings.of(access));
            findings.addAll(LookupFindings.of(catalog, observed, access));
            addCatalogVersion(findings);
            return findings;
        });
    }

    /** Runs work with one session for each server and the catalog, where several are not needed. */
    private <T> T inKeptSessions(Sql.Task<T, InterruptedException> work) throws InterruptedException {
        try (KeptSessions.Keeping keeping = sessions.keep()) {
            return Sql.translating(work);
        }
    }

    private void addWorkerSettings(ObservedState observed, List<Finding> findings) {
        ShardSet all = ShardSet.range(0, observed.map().sharding().shardCount() - 1);
        List<WorkerSettings> servers = new ArrayList<>();
        for (String server : observed.facts().keySet()) {
            ServerUrl url = Objects.requireNonNull(urls.get(server));
            try {
                access.onServer(server, connection -> servers.add(WorkerSettings.read(server, url, connection, all)));
            } catch (SQLException e) {
                findings.add(unreadable(server, e));
            }
        }
        WorkerSettings.problems(servers)
                .forEach(problem -> findings.add(Finding.of(
                        WARNING,
                        problem.server(),
                        "worker-settings",
                        problem.found(),
                        "before a move: " + WorkerSettings.REMEDY)));
    }

    /** Finds rows that belong to other shards. Reads all tables without a check known to hold, so it takes time. */
    public List<Finding> examineRows() throws InterruptedException {
        return inKeptSessions(() -> {
            List<Finding> findings = new ArrayList<>();
            findings.addAll(TableFindings.ofRows(ask(findings), access));
            return findings;
        });
    }

    /**
     * Examines only what a failover, a restore or a killed command can leave behind: moves, and the server that has each shard and accepts its
     * writes.
     */
    public List<Finding> examineOwnership() throws InterruptedException {
        return inKeptSessions(() -> {
            List<Finding> findings = new ArrayList<>();
            addOwnership(ask(findings), findings);
            return findings;
        });
    }

    /**
     * Whether the catalog may be older than the servers, so that nothing may be changed to match it. As of the last examination.
     */
    public boolean isMapInDoubt() {
        return mapInDoubt;
    }

    /**
     * The shard map that fits the servers.
     *
     * @throws DoctorException if a person must decide; says what each server has
     */
    public Proposal propose() throws InterruptedException {
        return inKeptSessions(() -> {
            List<Finding> findings = new ArrayList<>();
            ObservedState observed = ask(findings);
            ShardRows rows = new ShardRows(access);
            ShardVerdicts verdicts = ShardVerdicts.of(observed, rows);
            if (!stale(observed, verdicts).isEmpty()) {
                throw new DoctorException(
                        "the catalog has moves that have continued since, which a map cannot express",
                        Advice.of("bring it up to date with the servers by %s", CliCommand.RECONCILE_RESTORED));
            }
            findings.addAll(ShardFindings.of(observed, verdicts, rows, access));
            List<String> doubts = findings.stream()
                    .filter(finding -> finding.check().equals("shard-doubtful"))
                    .map(Finding::found)
                    .toList();
            return new Proposal(observed.map(), verdicts.proposal(Set.of()), verdicts.reasons(), doubts);
        });
    }

    /**
     * A shard map that fits the servers.
     *
     * @param current the map in the catalog
     * @param map the proposed map, ready to import
     * @param reasons why, by shard, for each shard whose placement or epoch changes
     * @param doubts what only a person can decide; the map is unusable while there are any
     */
    public record Proposal(ShardMap current, ShardMap map, Map<Integer, String> reasons, List<String> doubts) {}

    private void addOwnership(ObservedState observed, List<Finding> findings)
            throws SQLException, InterruptedException {
        ShardRows rows = new ShardRows(access);
        ShardVerdicts verdicts = ShardVerdicts.of(observed, rows);
        List<Stale> stale = stale(observed, verdicts);
        if (!stale.isEmpty() && verdicts.all(Doubtful.class).isEmpty()) {
            // Everything else that could be found is a consequence, and what is said of it would lead elsewhere.
            mapInDoubt = true;
            findings.add(behind(stale));
            return;
        }
        mapInDoubt = verdicts.isMapInDoubt() || !observed.unknownMoves().isEmpty();
        findings.addAll(ShardFindings.of(observed, verdicts, rows, access));
        findings.addAll(MoveFindings.of(observed, access, mover, !verdicts.isMapInDoubt() && !verdicts.isAnyLost()));
    }

    private List<Stale> stale(ObservedState observed, ShardVerdicts verdicts) {
        return StaleMoves.of(observed, verdicts, mover::isTakenUp);
    }

    private static Finding behind(List<Stale> stale) {
        Stale first = stale.get(0);
        return Finding.of(
                PROBLEM,
                "catalog",
                "catalog-behind",
                "has an older state than the servers: of move %s of %s %s%s"
                        .formatted(
                                first.reached().move().id(),
                                Plural.shards(first.reached().move().shardSet()),
                                first.why(),
                                stale.size() == 1
                                        ? ""
                                        : " (and %s)".formatted(Plural.of(stale.size() - 1, "more move"))),
                ShardFindings.RESTORED);
    }

    /**
     * Brings a restored catalog to where the servers are: places shards where the servers prove them, and moves in the phase that they have
     * reached. Changes no server.
     *
     * @return a line for each change; empty if the catalog is not older, or no server proves it
     * @throws DoctorException if only a person can decide who has the newest rows of some shard
     */
    public List<String> catchUp(boolean dryRun) throws InterruptedException {
        return inKeptSessions(() -> {
            ObservedState observed = ask(new ArrayList<>());
            ShardVerdicts verdicts = ShardVerdicts.of(observed, new ShardRows(access));
            Set<Integer> doubts = verdicts.all(Doubtful.class).keySet();
            if (!doubts.isEmpty()) {
                throw new DoctorException(
                        "it is not certain which server has the newest rows of %s, so nothing was changed"
                                .formatted(Plural.shards(ShardSet.of(doubts))),
                        Advice.of("see what %s says of them", CliCommand.DOCTOR));
            }
            List<Stale> stale = stale(observed, verdicts);
            Set<Integer> left = movingElsewhere(observed, stale);
            List<String> changes = new ArrayList<>();
            verdicts.reasons().forEach((shard, why) -> {
                if (!left.contains(shard)) {
                    changes.add("shard %s: %s".formatted(shard, why));
                }
            });
            stale.forEach(its -> changes.add("move %s: %s, and it is %s"
                    .formatted(
                            its.reached().move().id(),
                            its.why(),
                            its.reached().phase().map(MovePhase::toString).orElse("over"))));
            if (!changes.isEmpty() && !dryRun) {
                new RestoredCatalog(catalogUrl)
                        .catchUp(
                                observed.map(),
                                verdicts.proposal(left),
                                stale.stream().map(Stale::reached).toList());
            }
            return changes;
        });
    }

    /** The shards of moves that are at a state which cannot be derived from what is known. */
    private static Set<Integer> movingElsewhere(ObservedState observed, List<Stale> stale) {
        Set<Integer> left = new HashSet<>();
        observed.moves().stream()
                .filter(move -> stale.stream()
                        .noneMatch(its -> its.reached().move().tag().equals(move.tag())))
                .forEach(move -> move.shardSet().stream().forEach(left::add));
        return left;
    }

    private void addCatalogVersion(List<Finding> findings) throws SQLException {
        try (Connection connection = catalogUrl.connect("shardflake doctor")) {
            int version = CatalogSchema.version(connection);
            if (version < CatalogSchema.version()) {
                findings.add(Finding.of(
                        WARNING,
                        "catalog",
                        "catalog-version",
                        "is of version %s, and this command has %s".formatted(version, CatalogSchema.version()),
                        Advice.of("bring it up to date with %s", CliCommand.UPGRADE)));
            } else if (version == CatalogSchema.version() && lacksChanges(connection)) {
                findings.add(Finding.of(
                        WARNING,
                        "catalog",
                        "catalog-version",
                        "lacks parts of version %s, as after an interrupted upgrade".formatted(version),
                        Advice.of("bring it up to date with %s", CliCommand.UPGRADE)));
            }
        }
    }

    /** Whether the database lacks changesets; false if the role may not read them. */
    private static boolean lacksChanges(Connection connection) throws SQLException {
        return Sql.isTrue(connection, "SELECT has_table_privilege('shardflake_catalog.databasechangelog', 'SELECT')")
                && !CatalogSchema.missing(connection).isEmpty();
    }

    private ObservedState ask(List<Finding> findings) throws SQLException, InterruptedException {
        ShardMap before = catalog.load();
        RestoredCatalog counters = new RestoredCatalog(catalogUrl);
        Map<String, Counted> countedBefore = counters.counted();
        List<Move> movesBefore = Mover.moves(catalogUrl);
        Map<String, ServerFacts> facts = askServers(before, findings);
        List<Move> movesAfter = Mover.moves(catalogUrl);
        return new ObservedState(
                before,
                catalog.load(),
                ObservedState.union(movesBefore, movesAfter),
                ObservedState.following(movesBefore, movesAfter),
                countedBefore,
                counters.counted(),
                Splitter.splits(catalogUrl),
                endedMoves(),
                facts);
    }

    /** The tag prefixes of moves whose end is in the history or that were forgotten. */
    private Set<String> endedMoves() throws SQLException {
        Set<String> ended = new HashSet<>(forgotten);
        try (Connection connection = catalogUrl.connect("shardflake doctor")) {
            ended.addAll(Sql.list(
                    connection,
                    "SELECT DISTINCT 'm' || substring(reason FROM '^move ([0-9]+)') FROM shardflake_catalog.history WHERE change IN ('move completed', 'move cancelled') AND reason ~ '^move [0-9]+'",
                    row -> row.getString(1)));
        }
        return ended;
    }

    /** Reads the facts of all servers, except servers of other installations, whose shards must not be taken over. */
    private Map<String, ServerFacts> askServers(ShardMap map, List<Finding> findings)
            throws SQLException, InterruptedException {
        Map<String, ServerFacts> facts = ask(map, findings);
        Optional<InstallationIdentity> own;
        try (Connection connection = catalogUrl.connect("shardflake doctor")) {
            own = InstallationIdentity.ofCatalog(connection);
        }
        if (own.isPresent()) {
            facts.entrySet()
                    .removeIf(server ->
                            isOfAnother(server.getKey(), server.getValue().installation(), own.get(), findings));
        }
        return facts;
    }

    private static boolean isOfAnother(
            String server, Optional<InstallationIdentity> its, InstallationIdentity own, List<Finding> findings) {
        if (its.isEmpty() || its.get().equals(own)) {
            return false;
        }
        findings.add(Finding.of(
                PROBLEM,
                server,
                "other-installation",
                "belongs to another installation, %s; this one is %s".formatted(its.get(), own),
                Advice.of(
                        "give the shard map the URL of the server that was meant: %s. If this is a clone of that installation, %s",
                        CliCommand.SERVER_CHANGE.with(server), CliCommand.SEPARATE)));
        return true;
    }

    private Map<String, ServerFacts> ask(ShardMap map, List<Finding> findings) throws InterruptedException {
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            Map<String, Future<ServerFacts>> answers = new LinkedHashMap<>();
            for (Server server : map.servers()) {
                answers.put(server.name(), threads.submit(() -> askServer(server.name())));
            }
            Map<String, ServerFacts> facts = new LinkedHashMap<>();
            for (Map.Entry<String, Future<ServerFacts>> answer : answers.entrySet()) {
                try {
                    facts.put(answer.getKey(), answer.getValue().get());
                } catch (ExecutionException e) {
                    findings.add(unreadable(answer.getKey(), e.getCause() == null ? e : e.getCause()));
                }
            }
            return facts;
        } finally {
            threads.shutdownNow();
        }
    }

    private ServerFacts askServer(String name) throws SQLException {
        ServerUrl url = urls.get(name);
        if (url == null) {
            throw new DoctorException("it was added just now; look again");
        }
        try (Connection connection = url.connect("shardflake doctor")) {
            // Less than it takes others to find a deadlock with us.
            Sql.execute(connection, "SET lock_timeout = '500ms'");
            for (int look = 1; ; look++) {
                try {
                    return ServerFacts.read(connection);
                } catch (SQLException e) {
                    // A table or sequence was dropped meanwhile, for instance with the copy of a shard.
                    if (look == LOOKS || !DROPPED_MEANWHILE.contains(String.valueOf(e.getSQLState()))) {
                        throw e;
                    }
                }
            }
        }
    }

    private static Finding unreadable(String server, Throwable cause) {
        if (cause instanceof StandbyException) {
            return Finding.of(
                    PROBLEM,
                    server,
                    "standby",
                    "is a standby, which refuses writes",
                    Advice.of(
                            "give the shard map the primary's URL, or that of all hosts: %s",
                            CliCommand.SERVER_CHANGE.with(server)));
        }
        if (cause instanceof PoolerException) {
            return Finding.of(
                    PROBLEM,
                    server,
                    "pooler-on-direct-address",
                    "has the URL of a pooler that changes sessions between transactions, so no command can work there",
                    Advice.of("%s", CliCommand.SERVER_CHANGE_POOLER.with(server)));
        }
        String message = cause instanceof SQLException sql ? Sql.message(sql) : String.valueOf(cause.getMessage());
        return Finding.of(
                PROBLEM,
                server,
                "server-readable",
                "cannot be examined: " + message,
                "check that it runs, that its URL in the shard map is right, and that this user may read everything");
    }
}
