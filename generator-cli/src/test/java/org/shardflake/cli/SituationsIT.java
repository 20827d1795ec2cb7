/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/**
 * Doctor's advice, followed to the letter and in any order, never loses a row.
 *
 * <p>An installation lives through some moves, and what each of its databases has is kept after each step. A situation is made of
 * these: the catalog or servers older than the others, as after a restore, and things done by hand on top. Then all that doctor
 * says is done, by a machine that understands nothing, until there is no more to do; rows are counted before and after. Restored
 * databases come without slots and subscriptions, as in life.
 */
@Tag("full")
@Execution(ExecutionMode.CONCURRENT)
class SituationsIT {

    private static final int ALL = 148;

    /** Each night has every second of them, and the next night the others. */
    private static final int NIGHTS = 2;

    /** For looking into one. */
    private static final int FIRST = Integer.getInteger("advice.first", 0);

    /** Each has a server of its own, and its share of the situations. */
    private static final int PARTS = 2;

    private static final int ROUNDS = 8;
    private static final String LOST = "rows are lost or out of reach";
    private static final int SHARDS = 6;
    private static final List<String> DATABASES = List.of("catalog", "db1", "db2", "db3");
    private static final List<String> SERVERS = DATABASES.subList(1, 4);

    private static final String TABLES =
            "CREATE TABLE photo (id bigint PRIMARY KEY, title text); CREATE TABLE tag (id bigint PRIMARY KEY, photo bigint REFERENCES photo);";

    /** In the order in which they can be written. */
    private static final List<String> CATALOG_TABLES =
            List.of("installation", "server", "shard", "move", "move_shard", "history");

    private static final List<String> SERVER_TABLES = List.of(
            "shardflake.placement",
            "shardflake.move_claim",
            "shardflake.move_marker",
            "shardflake_deploy.databasechangelog");

    private static final Pattern REMEDY = Pattern.compile("(?m)^([a-z-]+) of (\\S+): (.*)$");
    private static final Pattern COMMAND = Pattern.compile(
            "shardflake ((?:doctor|reconcile|map|move|schema|server)(?: [a-z0-9][a-z0-9_.,-]*| --[a-z-]+)+)");
    private static final Pattern STATEMENT = Pattern.compile("SELECT shardflake\\.\\w+\\([^)]*\\)");

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(PARTS);

    @TempDir
    private Path directory;

    private final List<String> log = new ArrayList<>();
    private int part;
    private int states;

    private PostgresServer server() {
        return postgres.database(part).server();
    }

    private String name(String database) {
        return postgres.database(part).name() + "_" + database;
    }

    private String url(String database) {
        return server().uri(name(database)).replaceFirst(":[^:@/]*@", "@");
    }

    private Cli.Result launch(String... args) {
        Map<String, String> environment =
                Map.of("SHARDFLAKE_CATALOG", url("catalog"), "PGPASSWORD", server().password());
        Cli.Result result = Cli.launch(InputStream.nullInputStream(), environment, args);
        log.add("$ shardflake %s\n%s%s(exit %s)"
                .formatted(String.join(" ", args), result.out(), result.err(), result.exitCode()));
        return result;
    }

    private void succeed(String... args) {
        Cli.Result result = launch(args);
        assertThat(result.exitCode()).as(result.toString()).isZero();
    }

    private Connection connect(String database) throws SQLException {
        return server().connect(name(database));
    }

    private void execute(String database, String sql) throws SQLException {
        try (Connection connection = connect(database)) {
            Sql.execute(connection, sql);
        }
    }

    private void onServer(String sql) throws SQLException {
        try (Connection connection = server().connect()) {
            Sql.execute(connection, sql);
        }
    }

    @AfterEach
    void dropAll() throws SQLException {
        for (String database : DATABASES) {
            drop(name(database));
        }
    }

    static IntStream parts() {
        return IntStream.range(0, PARTS);
    }

    @ParameterizedTest
    @MethodSource("parts")
    @Timeout(value = 1, unit = TimeUnit.HOURS)
    void adviceThatIsFollowedInAnyOrderLosesNoRowInAnySituation(int part) throws Exception {
        this.part = part;
        liveThroughMoves();
        int night = Nights.share(NIGHTS, "advice.night");
        List<Situation> all = situations();
        List<Situation> situations = IntStream.range(FIRST, ALL)
                .filter(i -> i % NIGHTS == night)
                .mapToObj(all::get)
                .filter(situation -> situation.number() % PARTS == part)
                .toList();
        Map<String, Integer> ends = new TreeMap<>();
        List<String> stories = new ArrayList<>();
        for (Situation situation : situations) {
            log.clear();
            long begun = System.nanoTime();
            String outcome = followAdvice(situation);
            ends.merge(outcome, 1, Integer::sum);
            System.err.println("%s: %s after %s commands, %s ms"
                    .formatted(situation, outcome, log.size(), (System.nanoTime() - begun) / 1_000_000));
            if (outcome.equals(LOST)) {
                stories.add(situation + "\n" + String.join("\n", log));
            }
        }
        System.err.println("situations of -Dadvice.night=%s: %s, %s".formatted(night, situations.size(), ends));
        assertThat(stories).isEmpty();
        assertThat(ends.keySet()).contains("content", "a person must decide");
    }

    private void liveThroughMoves() throws Exception {
        for (String database : DATABASES) {
            onServer("CREATE DATABASE %s TEMPLATE template0".formatted(name(database)));
            execute(database, "CREATE SCHEMA kept");
        }
        succeed(
                "init",
                "--shards=" + SHARDS,
                "--server=db1=" + url("db1"),
                "--server=db2=" + url("db2"),
                "--server=db3=" + url("db3"));
        Files.writeString(changelog(), """
                --liquibase formatted sql
                --changeset ann:photo
                """ + TABLES);
        succeed(deploy());
        keep();
        succeed("move", "run", "--shards=0", "--to=db2");
        keep();
        succeed("move", "run", "--shards=2-3", "--to=db3");
        keep();
        succeed("move", "start", "--shards=1", "--to=db2");
        keep();
        succeed("move", "cutover");
        keep();
        succeed("move", "complete", "--yes");
        keep();
        succeed("move", "run", "--shards=0", "--to=db3");
        keep();
        succeed("move", "run", "--shards=0", "--to=db1");
        keep();
    }

    private Path changelog() {
        return directory.resolve("app.sql");
    }

    private String[] deploy(String... more) {
        List<String> args = new ArrayList<>(
                List.of("schema", "deploy", "--changelog=" + changelog(), "--search-path=" + directory));
        args.addAll(Arrays.asList(more));
        return args.toArray(String[]::new);
    }

    /** Adds rows to every shard, and keeps each database as it is now. */
    private void keep() throws SQLException {
        ShardMap map = map();
        for (int shard = 0; shard < SHARDS; shard++) {
            execute(
                    map.server(shard).name(),
                    String.format(
                            Locale.ROOT,
                            "INSERT INTO shard_%1$04d.photo (title) SELECT 'step %2$s' FROM generate_series(1, 3)",
                            shard,
                            states));
        }
        for (String server : SERVERS) {
            keepServer(server);
        }
        for (String table : CATALOG_TABLES) {
            execute(
                    "catalog",
                    "CREATE TABLE kept.%1$s_%2$s AS SELECT * FROM shardflake_catalog.%1$s".formatted(table, states));
        }
        states++;
    }

    private void keepServer(String server) throws SQLException {
        try (Connection connection = connect(server)) {
            for (String table : SERVER_TABLES) {
                Sql.execute(
                        connection,
                        "CREATE TABLE kept.%s_%s AS SELECT * FROM %s"
                                .formatted(table.replace('.', '_'), states, table));
            }
            for (int shard = 0; shard < SHARDS; shard++) {
                String schema = Sharding.schema(shard);
                if (Sql.isTrue(connection, "SELECT to_regnamespace(?) IS NOT NULL", schema)) {
                    Sql.execute(
                            connection,
                            "CREATE TABLE kept.%1$s_%2$s AS SELECT *, shardflake.is_fenced(%3$s) AS fenced FROM %1$s.photo"
                                    .formatted(schema, states, shard));
                }
            }
        }
    }

    /** Makes a server's shards, their rows and fences, and what it remembers, what they were. */
    private void restoreServer(String server, int state) throws SQLException {
        try (Connection connection = connect(server)) {
            for (String publication :
                    Sql.list(connection, "SELECT quote_ident(pubname) FROM pg_publication", row -> row.getString(1))) {
                Sql.execute(connection, "DROP PUBLICATION " + publication);
            }
            StringBuilder sql = new StringBuilder();
            for (int shard = 0; shard < SHARDS; shard++) {
                String schema = Sharding.schema(shard);
                String kept = "kept.%s_%s".formatted(schema, state);
                boolean was = Sql.isTrue(connection, "SELECT to_regclass(?) IS NOT NULL", kept);
                sql.append("DROP SCHEMA IF EXISTS %s CASCADE;\n".formatted(schema));
                if (was) {
                    sql.append(
                            "SELECT shardflake.create_shard(%1$s); SET search_path = %2$s, public; %4$s SELECT shardflake.complete_tables(%1$s); INSERT INTO photo SELECT id, title FROM %3$s; RESET search_path; SELECT shardflake.fence_shard(%1$s) WHERE EXISTS (SELECT FROM %3$s WHERE fenced);\n"
                                    .formatted(shard, schema, kept, TABLES));
                }
            }
            for (String table : SERVER_TABLES) {
                sql.append("DELETE FROM %1$s; INSERT INTO %1$s SELECT * FROM kept.%2$s_%3$s;\n"
                        .formatted(table, table.replace('.', '_'), state));
            }
            Sql.execute(connection, sql.toString());
        }
    }

    private void restoreCatalog(int state) throws SQLException {
        StringBuilder sql = new StringBuilder("SET session_replication_role = replica;\n");
        for (String table : CATALOG_TABLES) {
            sql.append(
                    "DELETE FROM shardflake_catalog.%1$s; INSERT INTO shardflake_catalog.%1$s OVERRIDING SYSTEM VALUE SELECT * FROM kept.%1$s_%2$s;\n"
                            .formatted(table, state));
        }
        for (String table : List.of("history", "move")) {
            sql.append(
                    "SELECT setval(pg_get_serial_sequence('shardflake_catalog.%1$s', 'id'), %2$s);\n"
                            .formatted(
                                    table,
                                    table.equals("history")
                                            ? "(SELECT max(id) FROM shardflake_catalog.history)"
                                            : "(SELECT count(*) + 1 FROM shardflake_catalog.history WHERE change = 'move started'), false"));
        }
        execute("catalog", sql.toString());
    }

    private ShardMap map() {
        return ShardCatalog.at(ServerUrl.parse(server().uri(name("catalog")))).load();
    }

    /**
     * What someone finds.
     *
     * @param states how far each database has come, in the order of {@link #DATABASES}
     * @param damage what was done by hand, by this seed; 0 for nothing
     */
    private record Situation(int number, List<Integer> states, int damage) {

        @Override
        public String toString() {
            return "situation %s: %s at %s, damage %s".formatted(number, DATABASES, states, damage);
        }
    }

    /** One database older by 1, 2 and more steps; then several, with damage. */
    private List<Situation> situations() {
        List<Situation> situations = new ArrayList<>();
        for (int now = states - 1; now >= 0; now--) {
            for (int database = 0; database < DATABASES.size(); database++) {
                for (int older = 0; older < now; older++) {
                    List<Integer> at = new ArrayList<>(Collections.nCopies(DATABASES.size(), now));
                    at.set(database, older);
                    situations.add(new Situation(situations.size(), at, 0));
                }
            }
        }
        Random random = new Random(16);
        while (situations.size() < ALL) {
            int now = 1 + random.nextInt(states - 1);
            List<Integer> at = new ArrayList<>(Collections.nCopies(DATABASES.size(), now));
            for (int older = random.nextInt(3); older > 0; older--) {
                at.set(random.nextInt(at.size()), random.nextInt(now + 1));
            }
            situations.add(new Situation(situations.size(), at, 1 + random.nextInt(1 << 20)));
        }
        Collections.shuffle(situations, random);
        return situations;
    }

    private void restore(Situation situation) throws SQLException, IOException {
        Files.deleteIfExists(directory.resolve("map.yaml"));
        for (String database : DATABASES) {
            freeOfReplication(name(database));
        }
        restoreCatalog(situation.states().get(0));
        for (int i = 0; i < SERVERS.size(); i++) {
            restoreServer(SERVERS.get(i), situation.states().get(i + 1));
        }
        if (situation.damage() > 0) {
            Random random = new Random(situation.damage());
            for (int times = 1 + random.nextInt(3); times > 0; times--) {
                damage(random);
            }
        }
    }

    /** What someone does by hand, or a killed command leaves. */
    private void damage(Random random) throws SQLException {
        String server = SERVERS.get(random.nextInt(SERVERS.size()));
        int shard = random.nextInt(SHARDS);
        String schema = Sharding.schema(shard);
        int kind = random.nextInt(8);
        log.add("damage %s to shard %s of %s".formatted(kind, shard, server));
        switch (kind) {
            case 0 -> execute(server, "DROP SCHEMA IF EXISTS %s CASCADE".formatted(schema));
            case 1 -> {
                if (!has(server, shard)) {
                    execute(
                            server,
                            "SELECT shardflake.create_shard(%1$s); CREATE TABLE %2$s.photo (id bigint PRIMARY KEY, title text); SELECT shardflake.complete_tables(%1$s)"
                                    .formatted(shard, schema));
                }
            }
            case 2 -> eachThatHas(shard, "SELECT shardflake.fence_shard(%s)".formatted(shard));
            case 3 -> eachThatHas(shard, "SELECT shardflake.unfence_shard(%s)".formatted(shard));
            case 4 ->
                execute(
                        server,
                        "INSERT INTO shardflake.move_claim VALUES ('m%1$s_abcdef', 1); SELECT shardflake.mark('m%1$s_abcdef_forward'); CREATE PUBLICATION shardflake_m%1$s_abcdef_forward"
                                .formatted(1 + random.nextInt(9)));
            case 5 ->
                execute(
                        server,
                        "INSERT INTO shardflake_deploy.databasechangelog SELECT * FROM shardflake_deploy.databasechangelog WHERE starts_with(filename, '%s/')"
                                .formatted(schema));
            case 6 -> {
                if (has(server, shard)) {
                    execute(server, "SELECT shardflake.fence_ids(%s, true)".formatted(shard));
                }
            }
            default -> {
                if (has(server, shard)) {
                    execute(server, "SELECT shardflake.fence_shard(%s)".formatted(shard));
                }
            }
        }
    }

    private void eachThatHas(int shard, String sql) throws SQLException {
        for (String server : SERVERS) {
            if (has(server, shard)) {
                execute(server, sql);
            }
        }
    }

    private boolean has(String server, int shard) throws SQLException {
        try (Connection connection = connect(server)) {
            return Sql.isTrue(connection, "SELECT to_regnamespace(?) IS NOT NULL", Sharding.schema(shard));
        }
    }

    /** Where each row is: the servers that have it, by its id. */
    private Map<Long, Set<String>> rows() throws SQLException {
        Map<Long, Set<String>> rows = new TreeMap<>();
        for (String server : SERVERS) {
            try (Connection connection = connect(server)) {
                for (int shard = 0; shard < SHARDS; shard++) {
                    String table = Sharding.schema(shard) + ".photo";
                    if (Sql.isTrue(connection, "SELECT to_regclass(?) IS NOT NULL", table)) {
                        Sql.list(connection, "SELECT id FROM " + table, row -> row.getLong(1))
                                .forEach(id -> rows.computeIfAbsent(id, i -> new TreeSet<>())
                                        .add(server));
                    }
                }
            }
        }
        return rows;
    }

    private String followAdvice(Situation situation) throws SQLException, IOException {
        restore(situation);
        Map<Long, Set<String>> before = rows();
        Random random = new Random(situation.number());
        Cli.Result doctor = launch("doctor");
        for (int round = 0; round < ROUNDS; round++) {
            List<String[]> actions = actions(doctor.out());
            if (random.nextBoolean()) {
                actions.add(new String[] {"", "reconcile"});
            }
            if (random.nextBoolean()) {
                actions.add(new String[] {"", "schema deploy"});
            }
            if (actions.isEmpty() && doctor.exitCode() == 0) {
                break;
            }
            Collections.shuffle(actions, random);
            for (String[] action : actions) {
                act(action[0], action[1]);
            }
            Cli.Result last = doctor;
            doctor = launch("doctor");
            if (doctor.exitCode() == last.exitCode() && doctor.out().equals(last.out())) {
                break;
            }
        }
        return check(before, doctor);
    }

    /** Everything that remedies tell to do, with the server they tell it of; but where a person is to decide. */
    private static List<String[]> actions(String doctor) {
        List<String[]> actions = new ArrayList<>();
        REMEDY.matcher(doctor).results().forEach(remedy -> {
            String text = remedy.group(3);
            if (text.startsWith("a person must decide")) {
                return;
            }
            STATEMENT
                    .matcher(text)
                    .results()
                    .map(MatchResult::group)
                    .forEach(sql -> actions.add(new String[] {remedy.group(2), sql}));
            if (text.contains("--fix")) {
                actions.add(new String[] {"", "doctor --fix"});
            }
            COMMAND.matcher(text)
                    .results()
                    .map(match -> match.group(1))
                    .forEach(command -> actions.add(new String[] {"", command}));
        });
        return actions;
    }

    private void act(String server, String action) {
        if (action.startsWith("SELECT")) {
            try {
                execute(server, action);
                log.add("%s: %s".formatted(server, action));
            } catch (SQLException e) {
                log.add("%s: %s: %s".formatted(server, action, e.getMessage()));
            }
            return;
        }
        List<String> args = new ArrayList<>(Arrays.asList(action.replaceAll("[,.;]$", "")
                .replace("map.yaml", directory.resolve("map.yaml").toString())
                .split(" ")));
        if (action.startsWith("schema deploy")) {
            launch(deploy(args.subList(2, args.size()).toArray(String[]::new)));
            return;
        }
        if (!action.startsWith("map")) {
            args.add("--patience=1s");
            if (action.startsWith("move complete") || action.startsWith("move cancel")) {
                args.add("--yes");
            }
        }
        launch(args.toArray(String[]::new));
    }

    private String check(Map<Long, Set<String>> before, Cli.Result doctor) throws SQLException {
        boolean says = doctor.exitCode() != 0 || doctor.out().contains("a person must decide");
        Map<Long, Set<String>> after = rows();
        ShardMap map = map();
        Set<Long> lost = new TreeSet<>();
        before.keySet().forEach(id -> {
            String owner = map.server((int) (id >> 10 & 8191)).name();
            Set<String> on = after.getOrDefault(id, Set.of());
            if (on.isEmpty() || !(says || on.contains(owner))) {
                lost.add(id);
            }
        });
        if (!lost.isEmpty()) {
            log.add("lost: " + lost);
            return LOST;
        }
        if (!says) {
            for (int shard = 0; shard < SHARDS; shard++) {
                try (Connection connection = connect(map.server(shard).name())) {
                    if (Sql.isTrue(connection, "SELECT shardflake.is_fenced(?)", shard)) {
                        log.add("shard %s is fenced, and doctor is content".formatted(shard));
                        return LOST;
                    }
                }
            }
        }
        return doctor.out().contains("a person must decide")
                ? "a person must decide"
                : doctor.exitCode() != 0 ? "a problem is left" : "content";
    }

    private void freeOfReplication(String database) throws SQLException {
        try (Connection connection = server().connect()) {
            if (!Sql.isTrue(connection, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = ?)", database)) {
                return;
            }
        }
        try (Connection connection = server().connect(database)) {
            for (String subscription : Sql.list(
                    connection,
                    "SELECT quote_ident(subname) FROM pg_subscription WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())",
                    row -> row.getString(1))) {
                Sql.execute(
                        connection,
                        "ALTER SUBSCRIPTION %1$s DISABLE; ALTER SUBSCRIPTION %1$s SET (slot_name = NONE)"
                                .formatted(subscription));
                Sql.execute(connection, "DROP SUBSCRIPTION " + subscription);
            }
            Sql.call(
                    connection,
                    "SELECT pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots WHERE active AND database = current_database()");
            Sql.call(
                    connection,
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database()");
        }
    }

    private void drop(String database) throws SQLException {
        freeOfReplication(database);
        onServer("DROP DATABASE IF EXISTS %s WITH (FORCE)".formatted(database));
    }
}
