/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.OpenAdoptions.OpenAdoption;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.AdvisoryLock;

/**
 * An open adoption with its state in the old database.
 *
 * @param progress empty if the old database does not say
 * @param problem why it does not; empty if it does
 */
public record AdoptionStatus(OpenAdoption adoption, Optional<Progress> progress, String problem) {

    /** The number up to which changes are counted. */
    public static final long MOST_CHANGES = 1_000_000;

    /** The age of a change from which an adoption counts as left behind. */
    public static final Duration LONG = Duration.ofHours(1);

    /** The number of tables up to which a command names them; someone who adopts more has a plan. */
    private static final int MOST_NAMED = 5;

    private static final String FIND = """
            SELECT (to_jsonb(a) ->> 'mark')::uuid, a.id, a.source, a.state, a.copied_rows,
                   NOT EXISTS (SELECT FROM pg_attribute k WHERE k.attrelid = to_regclass(a.source) AND k.attname::text = a.key)
              FROM shardflake_adopt.adoption a
            """;

    /** Reads the journal's size and age; journals of earlier versions have no times. */
    private static final String CHANGES = """
            SELECT o.changes, o.at, extract(epoch FROM clock_timestamp() - o.at)::bigint
              FROM (SELECT NULL::timestamptz AS shardflake_at) none CROSS JOIN LATERAL (
                    SELECT count(*) AS changes, min(c.at) AS at FROM (SELECT shardflake_at AS at FROM shardflake_adopt.changes_%1$s LIMIT %2$s) c) o
            """;

    /**
     * The progress of an adoption.
     *
     * @param copiedRows how many rows have been copied, by all runs
     * @param changes how many changes wait in the journal; {@link #MOST_CHANGES} stands for these or more
     * @param oldest when the oldest of those counted was made; empty if no change waits, or the journal has no times
     * @param age how long ago that was, by the clock of the old database
     * @param isWorkedOn whether a command works on the table now
     * @param slices where the shards are; empty until a cutover has prepared the table
     * @param needsPlan whether only a plan says how the table's rows, or those of others by it, get their keys
     * @param triggers what is wrong with the adoption's triggers, which someone has changed; empty if nothing is
     */
    public record Progress(
            AdoptState state,
            long copiedRows,
            long changes,
            Optional<Instant> oldest,
            Duration age,
            boolean isWorkedOn,
            Optional<Slices> slices,
            boolean needsPlan,
            List<String> triggers) {

        public Progress {
            triggers = List.copyOf(triggers);
        }
    }

    /**
     * The state of adoptions, read from their old databases. Those that do not answer have their reason as the problem.
     *
     * @param urls how to reach a database, by its URL without a password
     */
    public static List<AdoptionStatus> of(List<OpenAdoption> adoptions, Function<String, ServerUrl> urls) {
        Map<String, List<OpenAdoption>> byDatabase =
                adoptions.stream().collect(Collectors.groupingBy(OpenAdoption::database));
        Map<UUID, AdoptionStatus> found = new HashMap<>();
        byDatabase.forEach(
                (database, its) -> ask(urls, database, its).forEach(status -> found.put(status.adoption.id(), status)));
        return adoptions.stream()
                .map(adoption -> Objects.requireNonNull(found.get(adoption.id())))
                .toList();
    }

    /**
     * The state of the adoptions that a database has on record, in the given order.
     *
     * @throws ShardflakeException if the database cannot be asked
     */
    public static List<AdoptionStatus> in(ServerUrl database, List<OpenAdoption> adoptions) {
        return Sql.translating(() -> Sql.with(
                        database.connect("shardflake adopt status"), connection -> read(connection, adoptions)))
                .stream()
                .filter(status -> status.progress().isPresent())
                .toList();
    }

    private static List<AdoptionStatus> ask(
            Function<String, ServerUrl> urls, String database, List<OpenAdoption> adoptions) {
        String problem;
        try {
            ServerUrl url = urls.apply(database);
            try {
                return Sql.with(url.connect("shardflake adopt status"), connection -> read(connection, adoptions));
            } catch (SQLException e) {
                problem = Sql.why(url, e);
            }
        } catch (ShardflakeException e) {
            problem = String.valueOf(e.getMessage());
        }
        List<AdoptionStatus> unknown = new ArrayList<>();
        for (OpenAdoption adoption : adoptions) {
            unknown.add(new AdoptionStatus(adoption, Optional.empty(), problem));
        }
        return unknown;
    }

    /** An adoption as recorded in the old database. */
    private record Recorded(int id, String source, AdoptState state, long copiedRows, boolean needsPlan) {}

    private static List<AdoptionStatus> read(Connection connection, List<OpenAdoption> adoptions) throws SQLException {
        AdoptSession.requireReadable(connection);
        Map<UUID, Recorded> recorded = new HashMap<>();
        if (Sql.isTrue(connection, "SELECT to_regclass('shardflake_adopt.adoption') IS NOT NULL")) {
            Sql.list(
                    connection,
                    FIND,
                    row -> recorded.put(
                            row.getObject(1, UUID.class),
                            new Recorded(
                                    row.getInt(2),
                                    row.getString(3),
                                    AdoptState.valueOf(row.getString(4)),
                                    row.getLong(5),
                                    row.getBoolean(6))));
        }
        List<AdoptionStatus> all = new ArrayList<>();
        for (OpenAdoption adoption : adoptions) {
            Recorded its = recorded.get(adoption.id());
            all.add(
                    its == null
                            ? new AdoptionStatus(
                                    adoption, Optional.empty(), "the old database has no record of this adoption")
                            : new AdoptionStatus(adoption, Optional.of(progress(connection, its)), ""));
        }
        return all;
    }

    private static Progress progress(Connection connection, Recorded its) throws SQLException {
        boolean isWorkedOn = new AdvisoryLock("shardflake adopt " + its.source())
                .holder(connection)
                .isPresent();
        Optional<Slices> slices = new SliceFence(connection).slices(its.source());
        List<String> triggers = JournalTriggers.problems(connection, List.of(its.id()));
        return Sql.list(
                        connection,
                        CHANGES.formatted(its.id(), MOST_CHANGES),
                        row -> new Progress(
                                its.state(),
                                its.copiedRows(),
                                row.getLong(1),
                                Optional.ofNullable(row.getObject(2, OffsetDateTime.class))
                                        .map(OffsetDateTime::toInstant),
                                Duration.ofSeconds(Math.max(0, row.getLong(3))),
                                isWorkedOn,
                                slices,
                                its.needsPlan(),
                                triggers))
                .get(0);
    }

    /** A command that takes a plan, for this adoption's table in its place if that is enough. */
    public CliCommand command(CliCommand ofPlan) {
        return needsPlan() ? ofPlan : adoption.command(ofPlan);
    }

    /** A command that takes a plan, for all tables whose shards leave together in its place if these are few and that is enough. */
    public static CliCommand command(List<AdoptionStatus> adoptions, CliCommand ofPlan) {
        List<AdoptionStatus> together = adoptions.stream()
                .filter(status -> status.progress().flatMap(Progress::slices).isPresent())
                .toList();
        List<String> databases = together.stream()
                .map(status -> status.adoption().database())
                .distinct()
                .toList();
        boolean areNamed = databases.size() == 1
                && together.size() <= MOST_NAMED
                && together.stream().noneMatch(AdoptionStatus::needsPlan);
        List<String> tables =
                together.stream().map(status -> status.adoption().table()).toList();
        return areNamed ? ofPlan.ofTables(tables, null, null).withOption("from", databases.get(0)) : ofPlan;
    }

    /** Whether only the plan can continue the adoption, as far as is known. */
    public boolean needsPlan() {
        return progress.filter(Progress::needsPlan).isPresent();
    }

    /** Whether the table refuses writes although no command is working on it. */
    public boolean isLeftClosed() {
        return progress.filter(its -> its.state() == AdoptState.CLOSED && !its.isWorkedOn())
                .isPresent();
    }

    /** Whether changes have waited for too long, or are too many. */
    public boolean isBehind() {
        return progress.filter(its -> its.changes() >= MOST_CHANGES || its.age().compareTo(LONG) >= 0)
                .isPresent();
    }
}
