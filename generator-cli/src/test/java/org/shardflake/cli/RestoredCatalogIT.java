/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.MoveStep;
import org.shardflake.move.Mover;
import org.shardflake.move.server.MoveServer;
import org.shardflake.server.ServerUrl;

/**
 * A catalog that is restored alone, to any phase of a move that has gone on since: there is always one command that leads on, and doctor
 * says just that one.
 *
 * <p>A round brings some moves each to a phase, keeps the catalog, lets each go on to a later phase, and puts the catalog back.
 */
class RestoredCatalogIT {

    /** Where a move can be, each after the phase that it comes from. In some of them a process has died. */
    enum Phase {
        STARTED(null, false),
        PREPARED(STARTED, true),
        COPYING(PREPARED, true),
        FOLLOWING(COPYING, false),
        FENCED(FOLLOWING, true),
        SWITCHED(FENCED, true),
        ONE_CUT_OVER(SWITCHED, false),
        CUT_OVER(ONE_CUT_OVER, false),
        SEALED(CUT_OVER, true),
        COMPLETING(SEALED, true),
        COMPLETED(COMPLETING, false),
        GOING_BACK(CUT_OVER, true),
        REVERSED(GOING_BACK, false),
        CANCELLING_REVERSED(REVERSED, true),
        CANCELLED_REVERSED(CANCELLING_REVERSED, false),
        CANCELLING(FOLLOWING, true),
        CANCELLED(CANCELLING, false),
        ONE_KEPT(ONE_CUT_OVER, false);

        private final @Nullable Phase before;
        private final boolean isDeath;

        Phase(@Nullable Phase before, boolean isDeath) {
            this.before = before;
            this.isDeath = isDeath;
        }

        boolean comesAfter(Phase other) {
            return this == other || (before != null && before.comesAfter(other));
        }

        /** The phases to go through, without deaths on the way. */
        List<Phase> way(@Nullable Phase from) {
            if (this == from) {
                return new ArrayList<>();
            }
            List<Phase> way = before == null ? new ArrayList<>() : before.way(from);
            way.removeIf(phase -> phase.isDeath);
            way.add(this);
            return way;
        }
    }

    /** In a round; the servers have room for some more. */
    private static final int MOVES = 7;

    /** Every which pair is tried; all with {@code -Drestored.thinned=1}. */
    private static final int THINNED = Integer.getInteger("restored.thinned", 3);

    private static final Pattern REMEDY = Pattern.compile("(?m)^([a-z-]+) of (\\S+): (.*)$");
    private static final Pattern COMMAND = Pattern.compile(
            "shardflake ((?:doctor|reconcile|map|move|schema|server)(?: [a-z0-9][a-z0-9_.,-]*| --[a-z-]+)+)");
    private static final Pattern STATEMENT = Pattern.compile("SELECT shardflake\\.\\w+\\([^)]*\\)");

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @TempDir
    static Path directory;

    private final CliInstallation installation = new CliInstallation(postgres);
    private final List<String> log = new ArrayList<>();
    private final Map<Integer, Map<Long, String>> rows = new TreeMap<>();

    @BeforeEach
    void installation() throws Exception {
        if (!postgres.restore("photos")) {
            succeed("init", "--shards=" + 2 * MOVES, "--server=db1=" + installation.url(0));
            succeed("server", "add", "db2", installation.url(1));
            Path changelog = Files.writeString(directory.resolve("photos.sql"), """
                    --liquibase formatted sql
                    --changeset ann:photo
                    CREATE TABLE photo (id bigint PRIMARY KEY, title text);
                    """);
            succeed("schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory);
            postgres.save("photos");
        }
    }

    /** The phase of a move in the catalog that is restored, and in life. */
    private record Pair(Phase saved, Phase real) {}

    @Test
    @Tag("full")
    void aMoveThatWasFollowingHasGoneOnSince() throws Exception {
        round(Stream.of(Phase.FOLLOWING, Phase.ONE_CUT_OVER, Phase.COMPLETED, Phase.CANCELLED)
                .map(real -> new Pair(Phase.FOLLOWING, real))
                .toList());
    }

    static List<List<Pair>> rounds() {
        List<Pair> pairs = new ArrayList<>();
        for (Phase real : Phase.values()) {
            for (Phase saved : Phase.values()) {
                if (real.comesAfter(saved)) {
                    pairs.add(new Pair(saved, real));
                }
            }
        }
        List<List<Pair>> rounds = new ArrayList<>();
        for (int round = 0; round * MOVES < pairs.size() / THINNED; round++) {
            List<Pair> its = new ArrayList<>();
            for (int i = round * MOVES; i < Math.min((round + 1) * MOVES, pairs.size() / THINNED); i++) {
                its.add(pairs.get(i * THINNED));
            }
            rounds.add(its);
        }
        return rounds;
    }

    @ParameterizedTest
    @MethodSource("rounds")
    @Tag("full")
    void fromEveryPhaseToEveryLaterOneThereIsOneWayOn(List<Pair> pairs) throws Exception {
        round(pairs);
    }

    private void round(List<Pair> pairs) throws Exception {
        Map<Pair, Move> moves = new LinkedHashMap<>();
        for (Pair pair : pairs) {
            int shard = 2 * moves.size();
            Move move = mover(MoveListener.NONE).beginOrResume("db1", "db2", ShardSet.of(shard, shard + 1), "");
            write(move);
            for (Phase phase : pair.saved().way(null)) {
                goOn(move, phase);
            }
            moves.put(pair, move);
        }
        keepCatalog();
        for (Map.Entry<Pair, Move> entry : moves.entrySet()) {
            for (Phase phase : entry.getKey().real().way(entry.getKey().saved())) {
                goOn(entry.getValue(), phase);
                write(entry.getValue());
            }
        }
        restoreCatalog();
        moves.forEach((pair, move) -> log.add("move %s: %s".formatted(move.id(), pair)));

        followAdvice();

        check();
    }

    /** Brings a move on by one phase, by the command or by a process that dies on the way. */
    private void goOn(Move move, Phase phase) {
        long id = move.id();
        ShardSet all = move.shardSet();
        ShardSet one = ShardSet.of(all.stream().findFirst().orElseThrow());
        switch (phase) {
            case STARTED -> {}
            case PREPARED -> dying(MoveStep.PUBLISHED, mover -> mover.follow(id));
            case COPYING -> dying(MoveStep.SHARD_COPIED, mover -> mover.follow(id));
            case FOLLOWING -> mover(MoveListener.NONE).follow(id);
            case FENCED -> dying(MoveStep.FENCED, mover -> mover.cutOver(id, one));
            case SWITCHED -> dying(MoveStep.SWITCHED, mover -> mover.cutOver(id, one));
            case ONE_CUT_OVER -> mover(MoveListener.NONE).cutOver(id, one);
            case CUT_OVER -> mover(MoveListener.NONE).cutOver(id, all);
            case SEALED -> dying(MoveStep.SEALED, mover -> mover.complete(id));
            case COMPLETING -> dying(MoveStep.FORWARD_DROPPED, mover -> mover.complete(id));
            case COMPLETED -> mover(MoveListener.NONE).complete(id);
            case GOING_BACK -> dying(MoveStep.FENCED, mover -> mover.reverse(id, all));
            case REVERSED -> mover(MoveListener.NONE).reverse(id, all);
            case CANCELLING, CANCELLING_REVERSED ->
                dying(MoveStep.REVERSE_DROPPED, mover -> mover.cancel(id, Mover.End.BACK));
            case CANCELLED, CANCELLED_REVERSED -> mover(MoveListener.NONE).cancel(id, Mover.End.BACK);
            case ONE_KEPT -> mover(MoveListener.NONE).cancel(id, Mover.End.KEPT);
        }
    }

    private static final class DeathException extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    private interface Work {
        void by(Mover mover);
    }

    private void dying(MoveStep at, Work work) {
        try {
            work.by(mover(new MoveListener() {
                @Override
                public void reached(MoveStep step) {
                    if (step == at) {
                        throw new DeathException();
                    }
                }
            }));
        } catch (DeathException e) {
            return;
        }
        throw new AssertionError("it did not reach " + at);
    }

    private Mover mover(MoveListener listener) {
        return new Mover(
                catalog(),
                name -> new MoveServer(
                        name,
                        ServerUrl.parse(
                                postgres.database(name.equals("db1") ? 0 : 1).uri())),
                MoveSettings.DEFAULT,
                listener);
    }

    private ServerUrl catalog() {
        return ServerUrl.parse(postgres.database(0).uri());
    }

    private Connection connect(String server) throws SQLException {
        return postgres.database(server.equals("db1") ? 0 : 1).connect();
    }

    /** Adds a row to each shard that takes writes, and changes another. */
    private void write(Move move) throws SQLException {
        for (int shard : move.shardSet().stream().toArray()) {
            String table = Sharding.schema(shard) + ".photo";
            for (String server : List.of("db1", "db2")) {
                try (Connection connection = connect(server)) {
                    if (isOpen(connection, shard)) {
                        Sql.list(
                                        connection,
                                        "UPDATE %1$s SET title = title || '+' WHERE id = (SELECT min(id) FROM %1$s) RETURNING id, title"
                                                .formatted(table),
                                        row -> Map.entry(row.getLong(1), row.getString(2)))
                                .forEach(row -> keep(shard, row.getKey(), row.getValue()));
                        keep(
                                shard,
                                Sql.number(
                                        connection,
                                        "INSERT INTO %s (title) VALUES ('new') RETURNING id".formatted(table)),
                                "new");
                    }
                }
            }
        }
    }

    private void keep(int shard, long id, String title) {
        rows.computeIfAbsent(shard, s -> new TreeMap<>()).put(id, title);
    }

    private static boolean isOpen(Connection connection, int shard) throws SQLException {
        return Sql.isTrue(connection, "SELECT to_regclass(?) IS NOT NULL", Sharding.schema(shard) + ".photo")
                && Sql.isTrue(connection, "SELECT NOT shardflake.is_fenced(?)", shard);
    }

    private static List<String> tables(Connection connection) throws SQLException {
        return Sql.list(
                connection,
                "SELECT relname::text FROM pg_class WHERE relnamespace = 'shardflake_catalog'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'databasechangelog%'",
                row -> row.getString(1));
    }

    private void keepCatalog() throws SQLException {
        try (Connection connection = postgres.database(0).connect()) {
            Sql.execute(connection, "DROP SCHEMA IF EXISTS kept CASCADE; CREATE SCHEMA kept");
            for (String table : tables(connection)) {
                Sql.execute(
                        connection, "CREATE TABLE kept.%1$s AS SELECT * FROM shardflake_catalog.%1$s".formatted(table));
            }
        }
    }

    /** As pg_dump and pg_restore of the one schema. */
    private void restoreCatalog() throws SQLException {
        try (Connection connection = postgres.database(0).connect()) {
            Sql.execute(connection, "SET session_replication_role = replica");
            for (String table : tables(connection)) {
                Sql.execute(
                        connection,
                        "DELETE FROM shardflake_catalog.%1$s; INSERT INTO shardflake_catalog.%1$s OVERRIDING SYSTEM VALUE SELECT * FROM kept.%1$s"
                                .formatted(table));
            }
            for (String table : List.of("history", "move")) {
                Sql.call(
                        connection,
                        "SELECT setval(pg_get_serial_sequence('shardflake_catalog.%1$s', 'id'), (SELECT COALESCE(max(id), 0) + 1 FROM shardflake_catalog.%1$s), false)"
                                .formatted(table));
            }
        }
    }

    private Cli.Result launch(String... args) {
        Cli.Result result = Cli.launch(
                InputStream.nullInputStream(),
                Map.of("SHARDFLAKE_CATALOG", installation.url(0), "PGPASSWORD", installation.password()),
                args);
        log.add("$ shardflake %s\n%s%s(exit %s)"
                .formatted(String.join(" ", args), result.out(), result.err(), result.exitCode()));
        return result;
    }

    private void succeed(String... args) {
        Cli.Result result = launch(args);
        assertThat(result.exitCode()).as(result.toString()).isZero();
    }

    /** Each remedy tells one thing to do, and if the catalog is behind there is just one remedy. */
    private void followAdvice() throws SQLException {
        for (int step = 1; ; step++) {
            Cli.Result doctor = launch("doctor");
            if (doctor.out().endsWith("nothing found\n")) {
                return;
            }
            assertThat(step).as(String.join("\n", log)).isLessThanOrEqualTo(6);
            assertThat(doctor.out()).as(String.join("\n", log)).doesNotContain("a person must decide");
            Set<String> done = new HashSet<>();
            Matcher remedies = REMEDY.matcher(doctor.out());
            while (remedies.find()) {
                List<String> commands = commands(remedies.group(3));
                assertThat(commands).as(String.join("\n", log)).hasSize(1);
                if (done.add(commands.get(0))) {
                    act(remedies.group(2), commands.get(0));
                }
            }
            if (doctor.out().contains("catalog-behind")) {
                assertThat(done).as(String.join("\n", log)).hasSize(1);
            }
        }
    }

    private static List<String> commands(String remedy) {
        List<String> commands = new ArrayList<>();
        COMMAND.matcher(remedy).results().map(match -> match.group(1)).forEach(commands::add);
        if (commands.isEmpty() && remedy.contains("--fix")) {
            return List.of("doctor --fix");
        }
        if (commands.isEmpty()) {
            STATEMENT.matcher(remedy).results().map(MatchResult::group).forEach(commands::add);
        }
        return commands;
    }

    private void act(String server, String action) throws SQLException {
        log.add(server + ": " + action);
        if (action.startsWith("SELECT")) {
            try (Connection connection = connect(server)) {
                Sql.execute(connection, action);
            }
        } else {
            List<String> args = new ArrayList<>(Arrays.asList(action.split(" ")));
            if (action.startsWith("move complete") || action.startsWith("move cancel")) {
                args.add("--yes");
            }
            launch(args.toArray(String[]::new));
        }
        for (int shard : rows.keySet()) {
            try (Connection db1 = connect("db1");
                    Connection db2 = connect("db2")) {
                assertThat(isOpen(db1, shard) && isOpen(db2, shard))
                        .as("shard %s is open on both servers%n%s", shard, String.join("\n", log))
                        .isFalse();
            }
        }
    }

    private void check() throws SQLException {
        ShardMap map = ShardCatalog.at(catalog()).load();
        Map<Integer, Map<Long, String>> found = new TreeMap<>();
        for (int shard : rows.keySet()) {
            try (Connection connection = connect(map.server(shard).name())) {
                assertThat(isOpen(connection, shard))
                        .as("shard %s takes writes%n%s", shard, String.join("\n", log))
                        .isTrue();
                Map<Long, String> its = found.computeIfAbsent(shard, s -> new TreeMap<>());
                Sql.list(
                                connection,
                                "SELECT id, title FROM %s.photo".formatted(Sharding.schema(shard)),
                                row -> Map.entry(row.getLong(1), row.getString(2)))
                        .forEach(row -> its.put(row.getKey(), row.getValue()));
                Sql.execute(
                        connection, "INSERT INTO %s.photo (title) VALUES ('after')".formatted(Sharding.schema(shard)));
            }
        }
        assertThat(found).as(String.join("\n", log)).isEqualTo(rows);
        // Moves that go on can be brought to an end.
        for (Move move : Mover.moves(catalog())) {
            succeed("move", "cancel", String.valueOf(move.id()), "--keep-moved", "--yes");
        }
        assertThat(launch("doctor").out()).endsWith("nothing found\n");
    }
}
