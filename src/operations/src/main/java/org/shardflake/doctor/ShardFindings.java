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
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.adopt.AdoptionStatus;
import org.shardflake.doctor.ServerFacts.IdSequence;
import org.shardflake.doctor.Verdict.Behind;
import org.shardflake.doctor.Verdict.Doubtful;
import org.shardflake.doctor.Verdict.Missing;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.Split;

/** Checks whether servers have the shards that the map gives them, accept their writes, and accept no writes to others. */
final class ShardFindings {

    /** The beginning of a remedy for when no command can be trusted. */
    static final String PERSON = "a person must decide: ";

    /** The remedy for a catalog that is older than the servers. */
    static final Advice RESTORED = Advice.of(
            "the catalog is older than the servers, as after a restore: bring it up to date with them by %s",
            CliCommand.RECONCILE_RESTORED);

    private static final String FIRST_SETTLE =
            "nothing is opened or closed while the catalog may be older than the servers: first resolve the findings that say so";

    /** The maximum number of doubtful shards and copies that are examined; the others follow once these are resolved. */
    private static final int LOOKED_INTO = 20;

    private static final String KEEP_LATER = """
            DELETE FROM shardflake_deploy.databasechangelog
             WHERE filename ~ '^shard_[0-9]{4}/' AND ctid NOT IN (
                SELECT DISTINCT ON (filename, id, author) ctid FROM shardflake_deploy.databasechangelog
                 ORDER BY filename, id, author, dateexecuted DESC, orderexecuted DESC)
            """;

    private final ObservedState observed;
    private final ShardVerdicts verdicts;
    private final ShardRows rows;
    private final DoctorConnections access;
    private final boolean mayChange;
    private final List<Finding> findings = new ArrayList<>();

    /** The states of adoptions, read from the old databases only if a shard is closed. */
    private @Nullable List<AdoptionStatus> adoptions;

    private ShardFindings(ObservedState observed, ShardVerdicts verdicts, ShardRows rows, DoctorConnections access) {
        this.observed = observed;
        this.verdicts = verdicts;
        this.rows = rows;
        this.access = access;
        this.mayChange = !verdicts.isMapInDoubt() && observed.unknownMoves().isEmpty();
    }

    static List<Finding> of(ObservedState observed, ShardVerdicts verdicts, ShardRows rows, DoctorConnections access)
            throws SQLException {
        ShardFindings shards = new ShardFindings(observed, verdicts, rows, access);
        shards.behind();
        shards.doubtful();
        shards.missing();
        for (Map.Entry<String, ServerFacts> server : observed.facts().entrySet()) {
            shards.examine(server.getKey(), server.getValue());
        }
        return shards.findings;
    }

    private void examine(String server, ServerFacts facts) throws SQLException {
        Collection<ShardState> its = facts.shards().values();
        open(server, select(its, state -> isOthers(server, state) && state.takesWrites()));
        closed(server, select(its, state -> isOwn(server, state) && state.refusesWrites()));
        unguarded(server, select(its, state -> isOwn(server, state) && state.unguarded() > 0));
        odd(server, select(its, state -> isOwn(server, state) && state.odd() > 0));
        Set<Integer> stopped = facts.sequences().stream()
                .filter(IdSequence::isStopped)
                .map(IdSequence::shard)
                .collect(Collectors.toSet());
        copies(server, select(its, state -> isOthers(server, state) && !state.takesWrites()));
        unknown(
                server,
                select(its, state -> state.shard() >= observed.map().sharding().shardCount()));
        stopped(
                server,
                select(
                        its,
                        state -> stopped.contains(state.shard()) && isOwn(server, state) && !state.refusesWrites()));
        history(server, facts);
    }

    private static ShardSet select(Collection<ShardState> states, Predicate<ShardState> which) {
        return ShardSet.of(states.stream().filter(which).map(ShardState::shard).toList());
    }

    private boolean isOwn(String server, ShardState state) {
        return verdicts.fits(state.shard()) && observed.owner(state.shard()).equals(server);
    }

    private boolean isOthers(String server, ShardState state) {
        return verdicts.fits(state.shard()) && !observed.owner(state.shard()).equals(server);
    }

    /** Reports shards for which a single server is known to have newer rows. */
    private void behind() {
        record Place(String server, boolean isOwner, String why) {}
        Map<Place, List<Integer>> shards = new LinkedHashMap<>();
        verdicts.all(Behind.class)
                .forEach((shard, behind) -> shards.computeIfAbsent(
                                new Place(behind.server(), behind.server().equals(observed.owner(shard)), behind.why()),
                                place -> new ArrayList<>())
                        .add(shard));
        shards.forEach((place, its) -> findings.add(Finding.of(
                PROBLEM,
                place.server(),
                place.isOwner() ? "catalog-behind" : "shard-misplaced",
                place.isOwner()
                        ? "%s: %s".formatted(Plural.shards(ShardSet.of(its)), place.why())
                        : "%s, which the shard map gives to others: %s"
                                .formatted(Plural.shards(ShardSet.of(its)), place.why()),
                RESTORED)));
    }

    private void doubtful() throws SQLException {
        int looked = 0;
        List<Integer> more = new ArrayList<>();
        for (Map.Entry<Integer, Doubtful> doubt : verdicts.all(Doubtful.class).entrySet()) {
            int shard = doubt.getKey();
            if (++looked > LOOKED_INTO) {
                more.add(shard);
                continue;
            }
            doubtful(ShardSet.of(shard), "%s; %s".formatted(doubt.getValue().why(), copies(shard)));
        }
        if (!more.isEmpty()) {
            doubtful(ShardSet.of(more), "nor of these");
        }
    }

    private void doubtful(ShardSet shards, String why) {
        findings.add(
                Finding.of(
                        PROBLEM,
                        observed.owner(first(shards)),
                        "shard-doubtful",
                        "it is not certain which server has the newest rows of %s: %s"
                                .formatted(Plural.shards(shards), why),
                        PERSON
                                + "see which server has the newest rows, or restore one that has; the guide says how to place and open them by hand"));
    }

    /** A description of each server's copy of a shard, for a person to decide. */
    private String copies(int shard) throws SQLException {
        StringJoiner copies = new StringJoiner("; ");
        for (Map.Entry<String, ServerFacts> server : observed.facts().entrySet()) {
            ShardState state = server.getValue().shards().get(shard);
            if (state != null) {
                copies.add("%s: %s, %s"
                        .formatted(
                                server.getKey(),
                                state.takesWrites() ? "open" : "closed",
                                rows.describe(server.getKey(), shard)));
            }
        }
        return copies.length() == 0 ? "no server has it" : copies.toString();
    }

    private void missing() {
        Map<String, Map<Missing, List<Integer>>> byServer = new TreeMap<>();
        verdicts.all(Missing.class)
                .forEach((shard, missing) -> byServer.computeIfAbsent(
                                observed.owner(shard), server -> new LinkedHashMap<>())
                        .computeIfAbsent(missing, same -> new ArrayList<>())
                        .add(shard));
        byServer.forEach((server, kinds) -> {
            if (observed.facts().containsKey(server)) { // otherwise its contents are unknown
                kinds.forEach((missing, shards) -> missing(server, missing, ShardSet.of(shards)));
            }
        });
    }

    private void missing(String server, Missing missing, ShardSet shards) {
        String found = "lacks %s, which the shard map gives it".formatted(Plural.shards(shards));
        if (!missing.silent().isEmpty()) {
            missing(
                    server,
                    found,
                    "%s cannot be asked, and may have them: first see to that".formatted(missing.silent()));
        } else if (!missing.wasDeployed().isEmpty()) {
            missing(
                    server,
                    "%s; it was deployed, since %s".formatted(found, missing.wasDeployed()),
                    Advice.of(
                            PERSON + "restore a server that has the rows, or accept that they are lost with %s",
                            CliCommand.SCHEMA_RECREATE.with(shards)));
        } else {
            missing(server, found, Advice.of("create them with %s", CliCommand.SCHEMA_DEPLOY));
        }
    }

    private void missing(String server, String found, CharSequence remedy) {
        findings.add(Finding.of(PROBLEM, server, "shard-missing", found, remedy));
    }

    /** Reports shards that are open elsewhere; closing them loses nothing, since the server with the newest rows is determined. */
    private void open(String server, ShardSet shards) {
        if (shards.isEmpty()) {
            return;
        }
        Finding finding = Finding.of(
                PROBLEM,
                server,
                "shard-open-elsewhere",
                "takes writes to %s, which the shard map gives to others%s"
                        .formatted(Plural.shards(shards), access.placedAt(server, shards)),
                mayChange
                        ? Advice.of(
                                "close them with %s (SELECT shardflake.fence_shard(%s)), then check whether it has rows that their servers lack",
                                CliCommand.DOCTOR_FIX, first(shards))
                        : FIRST_SETTLE);
        add(
                finding,
                () -> access.whilePlaced(server, false, shards, connection -> {
                    for (int shard : shards.stream().toArray()) {
                        Sql.call(connection, "SELECT shardflake.fence_shard(?)", shard);
                    }
                }));
    }

    /** Reports closed shards; opening them is safe if no other server can have newer rows. */
    private void closed(String server, ShardSet seen) throws SQLException {
        if (seen.isEmpty()) {
            return;
        }
        if (adoptions == null) {
            adoptions = access.adoptions();
        }
        // A command may have opened shards in the meantime.
        ShardSet shards = stillClosed(server, seen);
        if (shards.isEmpty()) {
            return;
        }
        ClosedByAdoption adopted = new ClosedByAdoption(adoptions, access.adoptions());
        findings.addAll(adopted.explain(server, shards));
        ShardSet left = adopted.unexplained(shards);
        if (left.isEmpty()) {
            return;
        }
        if (adopted.needsPerson()) {
            findings.add(closed(server, left, adopted.remedy(left)));
            return;
        }
        ShardSet proven = filter(left, verdicts::isProven);
        ShardSet others = filter(left, shard -> !verdicts.isProven(shard));
        if (!proven.isEmpty()) {
            Finding finding = closed(
                    server,
                    proven,
                    mayChange
                            ? Advice.of(
                                    "open them with %s (SELECT shardflake.unfence_shard(%s))",
                                    CliCommand.DOCTOR_FIX, first(proven))
                            : FIRST_SETTLE);
            add(finding, () -> access.whilePlaced(server, true, proven, connection -> unfence(connection, proven)));
        }
        if (!others.isEmpty()) {
            findings.add(closed(
                    server,
                    others,
                    PERSON + "another server may have them too, so see which has the newer rows before you open them"));
        }
    }

    private ShardSet stillClosed(String server, ShardSet shards) throws SQLException {
        Set<Integer> closed = new HashSet<>();
        try {
            access.onServer(
                    server,
                    connection -> Sql.list(connection, ShardState.QUERY, ShardState::read).stream()
                            .filter(ShardState::refusesWrites)
                            .forEach(state -> closed.add(state.shard())));
        } catch (SQLException e) {
            if (!Sql.isOutage(e)) {
                throw e;
            }
            return shards; // As it said when it was asked first.
        }
        return filter(shards, closed::contains);
    }

    private Finding closed(String server, ShardSet shards, CharSequence remedy) {
        return Finding.of(
                PROBLEM,
                server,
                "shard-closed",
                "refuses writes to %s, which the shard map gives it%s, and no move has them"
                        .formatted(Plural.shards(shards), access.placedAt(server, shards)),
                remedy);
    }

    /** Reports shards whose ids stay stopped after a fence was rolled back, until they are resumed. */
    private void stopped(String server, ShardSet shards) {
        if (shards.isEmpty()) {
            return;
        }
        Finding finding = Finding.of(
                PROBLEM,
                server,
                "ids-stopped",
                "takes writes to %s and gives no ids for %s"
                        .formatted(Plural.shards(shards), Plural.choose(shards, "it", "them")),
                mayChange
                        ? Advice.of(
                                "let them continue with %s (SELECT shardflake.unfence_shard(%s))",
                                CliCommand.DOCTOR_FIX, first(shards))
                        : FIRST_SETTLE);
        add(finding, () -> access.whilePlaced(server, true, shards, connection -> unfence(connection, shards)));
    }

    /** Adds a finding with its fix, or without it if the map may be wrong. */
    private void add(Finding finding, Fix fix) {
        findings.add(mayChange ? finding.with(fix) : finding);
    }

    private static void unfence(Connection connection, ShardSet shards) throws SQLException {
        for (int shard : shards.stream().toArray()) {
            Sql.call(connection, "SELECT shardflake.unfence_shard(?)", shard);
        }
    }

    private void unguarded(String server, ShardSet shards) {
        if (!shards.isEmpty()) {
            findings.add(Finding.of(
                            WARNING,
                            server,
                            "fence-missing",
                            "has tables without a fence in %s, which therefore cannot be moved"
                                    .formatted(Plural.shards(shards)),
                            Advice.of(
                                    "add them with %s (SELECT shardflake.complete_tables(%s))",
                                    CliCommand.DOCTOR_FIX, first(shards)))
                    .with(() -> access.onServer(server, connection -> complete(connection, shards))));
        }
    }

    private void odd(String server, ShardSet shards) {
        if (!shards.isEmpty()) {
            findings.add(Finding.of(
                            WARNING,
                            server,
                            "fence-trigger",
                            "has fences in %s that are open but have their triggers enabled, which slows writes, or that ENABLE TRIGGER would close, being of an earlier library"
                                    .formatted(Plural.shards(shards)),
                            Advice.of(
                                    "put them right with %s (SELECT shardflake.complete_tables(%s))",
                                    CliCommand.DOCTOR_FIX, first(shards)))
                    .with(() -> access.onServer(server, connection -> complete(connection, shards))));
        }
    }

    private static void complete(Connection connection, ShardSet shards) throws SQLException {
        for (int shard : shards.stream().toArray()) {
            Sql.call(connection, "SELECT shardflake.complete_tables(?)", shard);
        }
    }

    /** Examines closed copies, which do not change: comparing them with their server's current contents is enough. */
    private void copies(String server, ShardSet shards) throws SQLException {
        Optional<Split> split = observed.splits().stream()
                .filter(some -> some.target().equals(server))
                .findFirst();
        if (split.isPresent()) {
            copies(
                    server,
                    shards.stream().boxed().toList(),
                    "as of when %s was split".formatted(split.get().source()),
                    first -> Advice.of(
                            "%s removes them at its end",
                            CliCommand.SERVER_SPLIT.with(split.get().source())));
            return;
        }
        List<Integer> empty = new ArrayList<>();
        List<Integer> spare = new ArrayList<>();
        List<Integer> unlike = new ArrayList<>();
        int looked = 0;
        for (int shard : shards.stream().toArray()) {
            if (!rows.hasRows(server, shard)) {
                empty.add(shard);
            } else if (++looked <= LOOKED_INTO && isSpare(server, shard)) {
                spare.add(shard);
            } else {
                unlike.add(shard);
            }
        }
        copies(
                server,
                empty,
                "and have no rows",
                first -> "remove each with SELECT shardflake.drop_shard(%s)".formatted(first));
        copies(
                server,
                spare,
                "and these shards' servers have all of their rows",
                first -> "remove each with SELECT shardflake.drop_shard(%s, force => true)".formatted(first));
        copies(
                server,
                unlike,
                "and have rows that were not found on these shards' servers",
                first -> PERSON
                        + "compare them with what their servers have, and keep what is missing there, before you drop them");
    }

    private boolean isSpare(String copy, int shard) throws SQLException {
        String owner = observed.owner(shard);
        return mayChange && observed.takesWrites(owner, shard) && rows.hasAllOf(copy, owner, shard);
    }

    private void copies(String server, List<Integer> shards, String which, IntFunction<CharSequence> remedy) {
        if (!shards.isEmpty()) {
            ShardSet its = ShardSet.of(shards);
            findings.add(Finding.of(
                    WARNING,
                    server,
                    "shard-copy",
                    "keeps copies of %s, which the shard map gives to others; they take no writes, %s"
                            .formatted(Plural.shards(its), which),
                    mayChange ? remedy.apply(first(its)) : FIRST_SETTLE));
        }
    }

    private void history(String server, ServerFacts facts) {
        ShardSet gone = filter(
                facts.historyOfGone(),
                shard -> verdicts.fits(shard) && !observed.owner(shard).equals(server));
        if (!gone.isEmpty()) {
            findings.add(Finding.of(
                            WARNING,
                            server,
                            "history-stale",
                            "has the history of deployments to %s, and not the shards".formatted(Plural.shards(gone)),
                            Advice.of("remove it with %s", CliCommand.DOCTOR_FIX))
                    .with(() -> access.whilePlaced(server, false, gone, connection -> forget(connection, gone))));
        }
        if (!facts.historyDoubled().isEmpty()) {
            findings.add(Finding.of(
                            WARNING,
                            server,
                            "history-doubled",
                            "has lines of the history of deployments to %s twice"
                                    .formatted(Plural.shards(facts.historyDoubled())),
                            Advice.of("keep the later ones with %s", CliCommand.DOCTOR_FIX))
                    .with(() -> access.onServer(server, connection -> Sql.execute(connection, KEEP_LATER))));
        }
    }

    private static void forget(Connection connection, ShardSet shards) throws SQLException {
        for (int shard : shards.stream().toArray()) {
            Sql.call(
                    connection,
                    "DELETE FROM shardflake_deploy.databasechangelog WHERE starts_with(filename, ? || '/') AND to_regnamespace(?) IS NULL",
                    Sharding.schema(shard),
                    Sharding.schema(shard));
        }
    }

    private void unknown(String server, ShardSet shards) {
        if (!shards.isEmpty()) {
            findings.add(Finding.of(
                    WARNING,
                    server,
                    "shard-unknown",
                    "has %s, and the shard map goes to %s"
                            .formatted(
                                    Plural.shards(shards),
                                    observed.map().sharding().shardCount() - 1),
                    "see whose this is; two installations do not belong into one database"));
        }
    }

    private static ShardSet filter(ShardSet shards, IntPredicate which) {
        return ShardSet.of(shards.stream().filter(which).toArray());
    }

    private static int first(ShardSet shards) {
        return shards.stream().findFirst().orElseThrow();
    }
}
