/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.doctor.Doctor;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.Move;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;

/** Tables that four servers have alike, written on one of them. Each test has rows or tables of its own. */
class ReferenceTablesIT {

    private static final String SUBSCRIPTIONS =
            "SELECT subname FROM pg_subscription WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(4);

    @TempDir
    static Path directory;

    private static ReferenceFixture fixture;

    @BeforeAll
    static void deploy() throws Exception {
        fixture = new ReferenceFixture(postgres, directory);
        fixture.createWithCountries(3);
    }

    /** A database cannot be dropped while it has some of them. */
    @AfterAll
    static void dropStreams() throws SQLException {
        fixture.dropStreams(4);
    }

    /** Countries whose code begins with a letter, on one server after the other; one text if they are equal. */
    private static Set<String> countries(String home, int servers, char letter) throws SQLException {
        return new HashSet<>(fixture.contents(
                home, servers, "(SELECT * FROM reference.country WHERE code LIKE '%s_')".formatted(letter)));
    }

    private static String state(String server, String sql) {
        return catchThrowableOfType(SQLException.class, () -> fixture.execute(server, sql))
                .getSQLState();
    }

    private static void insert(String... codes) throws SQLException {
        for (String code : codes) {
            fixture.execute("db1", "INSERT INTO reference.country VALUES ('%1$s', 'Land %1$s')".formatted(code));
        }
    }

    private static List<String> findings() throws InterruptedException {
        ShardMap map = ShardCatalog.at(fixture.catalog()).load();
        return new Doctor(fixture.catalog(), fixture.installation().urls(map), fixture.mover())
                .examine().stream()
                        .filter(finding -> finding.check().startsWith("reference"))
                        .map(finding -> finding.server() + ": " + finding.check())
                        .toList();
    }

    @Test
    void whatIsWrittenAtHomeIsOnAllServersAndRefusedThere() throws Exception {
        insert("A1");
        fixture.execute("db1", "UPDATE reference.country SET name = 'Renamed' WHERE code = 'A1'");

        assertThat(countries("db1", 3, 'A')).containsExactly("(A1,Renamed)");
        assertThat(state("db2", "INSERT INTO reference.country VALUES ('A2', 'Nowhere')"))
                .isEqualTo("SF012");
        assertThat(state("db3", "DELETE FROM reference.country")).isEqualTo("SF012");
        assertThat(state("db1", "DELETE FROM reference.country WHERE code = 'A1'"))
                .isEqualTo("SF013");
        assertThat(state("db1", "UPDATE reference.country SET code = 'A2' WHERE code = 'A1'"))
                .isEqualTo("SF013");
        assertThat(state("db1", "TRUNCATE reference.country CASCADE")).isEqualTo("SF013");
        assertThat(fixture.tables().status().isWell()).isTrue();
        assertThat(findings()).isEmpty();
    }

    @Test
    void aChangelogChangesTablesAndRowsOnAllServersInOneMoment() throws Exception {
        String plan = """
                --changeset ann:plan
                CREATE TABLE plan (code text PRIMARY KEY, name text NOT NULL);
                INSERT INTO plan VALUES ('S', 'Small'), ('L', 'Large'), ('X', 'Old');
                """;
        assertThat(fixture.deploy("", plan).changeSets()).isEqualTo(1);
        fixture.execute("db1", "INSERT INTO reference.plan VALUES ('M', 'Medium')");
        String price = """
                --changeset ann:price
                ALTER TABLE plan ADD COLUMN price integer;
                UPDATE plan SET price = 10;
                ALTER TABLE plan ALTER COLUMN price SET NOT NULL;
                DELETE FROM plan WHERE code = 'X';
                --changeset ann:discount
                CREATE TABLE discount (code text PRIMARY KEY, plan text REFERENCES plan (code));
                INSERT INTO discount VALUES ('HALF', 'S');
                """;
        assertThat(fixture.deploy("", plan, price).changeSets()).isEqualTo(2);
        fixture.execute("db1", "INSERT INTO reference.plan VALUES ('XL', 'Huge', 20)");
        fixture.execute("db1", "INSERT INTO reference.discount VALUES ('ALL', 'XL')");

        assertThat(new HashSet<>(fixture.contents("db1", 3, "reference.plan")))
                .containsExactly("(L,Large,10) (M,Medium,10) (S,Small,10) (XL,Huge,20)");
        assertThat(new HashSet<>(fixture.contents("db1", 3, "reference.discount")))
                .containsExactly("(ALL,XL) (HALF,S)");

        String drop = "--changeset ann:drop\nDROP TABLE discount;\nALTER TABLE plan DROP COLUMN price;\n";
        fixture.deploy("", plan, price, drop);
        fixture.execute("db1", "INSERT INTO reference.plan VALUES ('Z', 'Zero')");
        assertThat(new HashSet<>(fixture.contents("db1", 3, "reference.plan")))
                .containsExactly("(L,Large) (M,Medium) (S,Small) (XL,Huge) (Z,Zero)");
        assertThat(fixture.deploy("", plan, price, drop).changeSets()).isZero();
    }

    @Test
    @Tag("full")
    void aServerThatMissedTheEndOfADeploymentGetsItWithTheNext() throws Exception {
        String note = "--changeset ann:note\nCREATE TABLE note (id int PRIMARY KEY, text text);\n";
        fixture.deploy("", note);
        fixture.execute(
                "db2", "DELETE FROM shardflake_deploy.databasechangelog WHERE id = 'note'; DROP TABLE reference.note");
        fixture.execute("db1", "INSERT INTO reference.note VALUES (1, 'seen')");

        fixture.deploy("", note);
        assertThat(new HashSet<>(fixture.contents("db1", 3, "reference.note"))).containsExactly("(1,seen)");
    }

    /** Or the home's version would reach a copy that lacks rows, and a shard that refers to them could be cut over to it. */
    @Test
    @Tag("full")
    void whatACopyCannotCommitIsNotOnTheHome() throws Exception {
        String city = "--changeset ann:city\nCREATE TABLE city (code text PRIMARY KEY, name text);\n";
        fixture.deploy("", city);
        String rows = "--changeset ann:cities\nINSERT INTO city VALUES ('B', 'Berlin');\n";
        // All deferred checks have passed before the commit, but this one, which is deferred again.
        fixture.execute("db2", """
                CREATE TABLE public.last (n integer);
                CREATE FUNCTION public.defer() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN SET CONSTRAINTS ALL DEFERRED; INSERT INTO public.last VALUES (1); RETURN NULL; END';
                CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''the commit fails''; END';
                CREATE CONSTRAINT TRIGGER last AFTER INSERT ON public.last DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.fail();
                CREATE CONSTRAINT TRIGGER last AFTER INSERT ON reference.city DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.defer();
                """);
        List<String> version = fixture.list("db1", "SELECT version FROM shardflake.reference_version");

        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> fixture.deploy("", city, rows))
                .withMessageContaining("deployed, but not on db2 (the commit fails) nor on the home, db1")
                .satisfies(e -> assertThat(e.kind()).isEqualTo(Kind.PARTLY_DONE));
        assertThat(fixture.list("db1", "SELECT code FROM reference.city")).isEmpty();
        assertThat(fixture.list("db1", "SELECT version FROM shardflake.reference_version"))
                .isEqualTo(version);
        assertThat(fixture.list("db3", "SELECT code FROM reference.city")).containsExactly("B");

        fixture.execute("db2", "DROP TABLE public.last; DROP FUNCTION public.defer() CASCADE");
        fixture.deploy("", city, rows);
        assertThat(new HashSet<>(fixture.contents("db1", 3, "reference.city"))).containsExactly("(B,Berlin)");
    }

    /** Joined by commas, both keys would be the same text. */
    @Test
    @Tag("full")
    void aKeyOfSeveralColumnsThatLeavesIsNotTakenForAnother() throws Exception {
        String place = """
                --changeset ann:place
                CREATE TABLE place (code text PRIMARY KEY, land text NOT NULL, name text NOT NULL, UNIQUE (land, name));
                INSERT INTO place VALUES ('1', 'a,b', 'c');
                """;
        fixture.deploy("", place);
        for (String server : List.of("db1", "db2", "db3")) {
            fixture.execute(
                    server,
                    "DO $$ DECLARE s text; BEGIN FOR s IN SELECT nspname FROM pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$' LOOP EXECUTE format('CREATE TABLE %I.visit (id bigint PRIMARY KEY, land text, name text, FOREIGN KEY (land, name) REFERENCES reference.place (land, name))', s); END LOOP; END $$");
        }
        try {
            refuses("of reference.place or changes its key", "UPDATE place SET land = 'a', name = 'b,c'");
        } finally {
            for (String server : List.of("db1", "db2", "db3")) {
                fixture.execute(
                        server,
                        "DO $$ DECLARE s text; BEGIN FOR s IN SELECT nspname FROM pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$' LOOP EXECUTE format('DROP TABLE %I.visit', s); END LOOP; END $$");
            }
        }
    }

    @Test
    @Tag("full")
    void aNewTableTakesNoRowsBeforeAllStreamsKnowIt() throws Exception {
        String stamp = "--changeset ann:stamp\nCREATE TABLE stamp (id int PRIMARY KEY);\n";
        fixture.deploy("", stamp);
        forget("stamp");
        fixture.deploy("", stamp);
        fixture.execute("db1", "INSERT INTO reference.stamp VALUES (1)");
        forget("stamp");
        fixture.tables().repair();
        fixture.execute("db1", "INSERT INTO reference.stamp VALUES (2)");
        assertThat(new HashSet<>(fixture.contents("db1", 3, "reference.stamp"))).containsExactly("(1) (2)");
    }

    /** As if the command had been killed after the servers had committed the new table. */
    private static void forget(String table) throws SQLException {
        fixture.contents("db1", 3, "reference." + table);
        String publication = fixture.list(
                        "db1", "SELECT pubname FROM pg_publication WHERE pubname LIKE 'shardflake\\_r%'")
                .get(0);
        String change = "ALTER PUBLICATION %s %s TABLE reference.%s";
        fixture.execute("db1", change.formatted(publication, "DROP", table));
        fixture.execute(
                "db2",
                "ALTER SUBSCRIPTION %s REFRESH PUBLICATION"
                        .formatted(fixture.list("db2", SUBSCRIPTIONS).get(0)));
        fixture.execute("db1", change.formatted(publication, "ADD", table));
        fixture.execute("db1", "SELECT shardflake.guard_reference('reference.%s', 'closed', 'db1')".formatted(table));
    }

    @Test
    void aRowLeavesOnlyIfNoShardRefersToIt() throws Exception {
        insert("C1", "C2");
        countries("db1", 3, 'C');
        fixture.execute("db3", "INSERT INTO shard_0009.customer (uid, country) VALUES (9, 'C1')");

        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> fixture.tables().delete("country", List.of("C1")))
                .withMessageContaining("shard_0009.customer")
                .withMessageContaining("on db3")
                .satisfies(e -> assertThat(e.kind()).isEqualTo(Kind.PRECONDITION));
        assertThat(countries("db1", 3, 'C')).containsExactly("(C1,\"Land C1\") (C2,\"Land C2\")");

        fixture.execute("db3", "UPDATE shard_0009.customer SET country = 'C2' WHERE country = 'C1'");
        fixture.tables().delete("reference.country", List.of("C1"));
        insert("C3");
        assertThat(countries("db1", 3, 'C')).containsExactly("(C2,\"Land C2\") (C3,\"Land C3\")");
    }

    @Test
    void noRowLeavesWhileAForeignKeyWouldChangeRowsOfShards() throws Exception {
        insert("V1");
        countries("db1", 3, 'V');
        fixture.execute("db3", "INSERT INTO shard_0010.customer (uid, country) VALUES (10, 'V1')");
        for (String action : List.of("CASCADE", "SET NULL")) {
            fixture.execute(
                    "db3",
                    "ALTER TABLE shard_0010.customer ADD CONSTRAINT own FOREIGN KEY (country) REFERENCES reference.country ON DELETE "
                            + action);
            assertThatExceptionOfType(ShardflakeException.class)
                    .isThrownBy(() -> fixture.tables().delete("country", List.of("V1")))
                    .withMessageContaining("a foreign key of shard_0010.customer on db3")
                    .satisfies(e -> assertThat(e.kind()).isEqualTo(Kind.PRECONDITION));
            fixture.execute("db3", "ALTER TABLE shard_0010.customer DROP CONSTRAINT own");
        }
        assertThat(fixture.list("db3", "SELECT country FROM shard_0010.customer WHERE uid = 10"))
                .containsExactly("V1");
        assertThat(countries("db1", 3, 'V')).containsExactly("(V1,\"Land V1\")");
        assertThat(fixture.tables().status().isWell()).isTrue();
    }

    @Test
    void aDeletionThatWasKilledIsFinishedOrUndoneByTheSameCommand() throws Exception {
        insert("K1", "K2");
        leaveHalfDeleted("K1");
        assertThat(fixture.tables().status().unfinished())
                .containsExactly(CliCommand.REFERENCE_DELETE.with("reference.country", "K1"));
        assertThat(findings()).contains("catalog: reference-interrupted");
        fixture.tables().delete("country", List.of("K1"));
        assertThat(countries("db1", 3, 'K')).containsExactly("(K2,\"Land K2\")");

        leaveHalfDeleted("K2");
        fixture.execute("db1", "INSERT INTO shard_0001.customer (uid, country) VALUES (1, 'K2')");
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> fixture.tables().delete("country", List.of("K2")))
                .withMessageContaining("shard_0001.customer");
        assertThat(countries("db1", 3, 'K')).containsExactly("(K2,\"Land K2\")");
        assertThat(fixture.tables().status().isWell()).isTrue();
    }

    /** As if the command had been killed after one server had committed. */
    private static void leaveHalfDeleted(String code) throws SQLException {
        countries("db1", 3, 'K');
        fixture.execute(
                "db1",
                "INSERT INTO shardflake_catalog.reference_delete (table_name, key) VALUES ('reference.country', '{%s}')"
                        .formatted(code));
        fixture.execute(
                "db2",
                "SET session_replication_role = replica; DELETE FROM reference.country WHERE code = '%s'"
                        .formatted(code));
    }

    @Test
    void aServerThatIsAddedHasThemBeforeItHasAShardAndLeavesNothingBehind() throws Exception {
        insert("E1");
        fixture.installation().add(fixture.server(3), "a test");
        insert("E2");
        assertThat(countries("db1", 4, 'E')).containsExactly("(E1,\"Land E1\") (E2,\"Land E2\")");
        assertThat(state("db4", "INSERT INTO reference.country VALUES ('E3', 'Nowhere')"))
                .isEqualTo("SF012");

        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> fixture.tables().remove("db1"))
                .withMessage("reference tables are written on db1");
        fixture.tables().remove("db4");
        ShardCatalog.at(fixture.catalog()).removeServer("db4", "a test");
        assertThat(fixture.list("db4", SUBSCRIPTIONS)).isEmpty();
        assertThat(
                        fixture.list(
                                "db1",
                                "SELECT slot_name FROM pg_replication_slots WHERE database = current_database() AND slot_name LIKE 'shardflake\\_r%'"))
                .hasSize(2);
    }

    @Test
    @Tag("full")
    void aSlotOfAServerThatHasLeftTheMapIsFoundAndDropped() throws Exception {
        fixture.installation().add(fixture.server(3), "a test");
        String its = fixture.list("db4", SUBSCRIPTIONS).get(0);
        ShardCatalog.at(fixture.catalog()).removeServer("db4", "a test");
        assertThat(findings()).containsExactly("db1: reference-slot");

        fixture.tables().repair();

        assertThat(findings()).isEmpty();
        assertThat(fixture.list(
                        "db1", "SELECT slot_name FROM pg_replication_slots WHERE slot_name = '%s'".formatted(its)))
                .isEmpty();
        fixture.execute(
                "db4",
                "ALTER SUBSCRIPTION %1$s DISABLE; ALTER SUBSCRIPTION %1$s SET (slot_name = NONE); DROP SUBSCRIPTION %1$s"
                        .formatted(its));
    }

    @Test
    void theHomeChangesUnderLoadWithoutALostWrite() throws Exception {
        fixture.deploy(
                "",
                "--changeset ann:seen\nCREATE TABLE seen (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text NOT NULL);\n");
        try (ShardRouter router = ShardRouter.builder()
                        .catalog(postgres.database(0).uri())
                        .build();
                ReferenceLoad load = new ReferenceLoad(router, 2)) {
            for (String home : List.of("db2", "db3", "db1")) {
                fixture.tables().move(home);
                load.awaitWrites(20);
            }
            Set<Long> written = load.stop();
            assertThat(router.reference().awaitEverywhere(Duration.ofSeconds(30)))
                    .isTrue();
            assertThat(new HashSet<>(fixture.contents("db1", 3, "reference.seen")))
                    .hasSize(1);
            assertThat(fixture.list("db3", "SELECT id FROM reference.seen"))
                    .containsExactlyInAnyOrderElementsOf(
                            written.stream().map(String::valueOf).toList());
        }
        assertThat(fixture.tables().status().isWell()).isTrue();
        assertThat(state("db2", "INSERT INTO reference.country VALUES ('XX', 'Nowhere')"))
                .isEqualTo("SF012");
    }

    /** PostgreSQL shows such a role no position, as if the sequence were unused. */
    @Test
    void aSequenceThatMayNotBeReadIsNamedAndNotTakenForAnUnusedOne() throws Exception {
        fixture.deploy(
                "",
                "--changeset ann:drawn\nCREATE TABLE drawn (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text NOT NULL);\n");
        fixture.execute("db1", "INSERT INTO reference.drawn (what) VALUES ('first')");
        fixture.execute("db1", "CREATE ROLE reference_reader; GRANT USAGE ON SCHEMA reference TO reference_reader");
        String asReader = fixture.server(0).url() + "?options=-c%20role%3Dreference_reader";
        try (ReferenceServer old = ReferenceServer.connect("db1", ServerUrl.parse(asReader));
                ReferenceServer next = ReferenceServer.connect(
                        "db2", ServerUrl.parse(fixture.server(1).url()))) {
            assertThatThrownBy(() -> HomeMove.carrySequences(old, next))
                    .isInstanceOf(ShardflakeException.class)
                    .hasMessageContaining("reference_reader lacks the right USAGE on ")
                    .hasMessageContaining("reference.drawn_id_seq");
        } finally {
            fixture.execute("db1", "DROP OWNED BY reference_reader; DROP ROLE reference_reader");
        }
    }

    @Test
    void aChangeOfTheHomeThatWasKilledIsFinishedOrCancelled() throws Exception {
        interruptMoveTo("db2");
        assertThat(state("db1", "INSERT INTO reference.country VALUES ('L1', 'Nowhere')"))
                .isEqualTo("SF012");
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> fixture.tables().delete("country", List.of("DE")))
                .withMessageContaining("the home is being changed to db2");
        fixture.tables().move("db1");
        insert("L1");

        interruptMoveTo("db2");
        fixture.tables().move("db2");
        fixture.execute("db2", "INSERT INTO reference.country VALUES ('L2', 'Land L2')");
        assertThat(countries("db2", 3, 'L')).containsExactly("(L1,\"Land L1\") (L2,\"Land L2\")");
        fixture.tables().move("db1");
        assertThat(fixture.tables().status().isWell()).isTrue();
    }

    @Test
    void aHomeThatAServerDoesNotFollowIsRepairedBeforeItChanges() throws Exception {
        dropSubscription("db3");
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> fixture.tables().move("db2"))
                .withMessageContaining("db3 does not follow the home");
        fixture.tables().repair();

        interruptMoveTo("db2");
        dropSubscription("db3");
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> fixture.tables().move("db2"))
                .satisfies(e -> assertThat(e.hint().orElse("")).contains("move --to db1 gives up the change"));
        fixture.tables().move("db1");
        fixture.tables().repair();
        insert("W1");
        assertThat(countries("db1", 3, 'W')).containsExactly("(W1,\"Land W1\")");
    }

    private static void dropSubscription(String server) throws SQLException {
        fixture.execute(
                server,
                "ALTER SUBSCRIPTION %1$s DISABLE; ALTER SUBSCRIPTION %1$s SET (slot_name = NONE); DROP SUBSCRIPTION %1$s"
                        .formatted(fixture.list(server, SUBSCRIPTIONS).get(0)));
    }

    /** As if the command had been killed when the old home was closed. */
    private static void interruptMoveTo(String next) throws SQLException {
        fixture.execute(
                "db1",
                "UPDATE shardflake_catalog.reference SET next_home = '%s', next_tag = 'r99_' || right(md5(random()::text), 6)"
                        .formatted(next));
        fixture.execute(
                "db1",
                "SELECT shardflake.guard_reference(c.oid, 'closed', 'db1') FROM pg_class c WHERE c.relnamespace = 'reference'::regnamespace AND c.relkind = 'r'");
    }

    @Test
    @Tag("full")
    void aCopyThatWentAstrayIsFoundAndRepaired() throws Exception {
        insert("G1", "G2");
        countries("db1", 3, 'G');
        fixture.execute(
                "db2",
                "SET session_replication_role = replica; DELETE FROM reference.country WHERE code = 'G1'; UPDATE reference.country SET name = 'x' WHERE code = 'G2'; INSERT INTO reference.country VALUES ('G3', 'Nowhere')");
        dropSubscription("db3");
        assertThat(findings()).containsExactly("db2: reference-rows", "db3: reference-stream");
        insert("G4");
        assertThat(fixture.tables().status().isWell()).isFalse();

        assertThat(fixture.tables().repair()).isEqualTo(Map.of("db2", 3L, "db3", 1L));
        insert("G5");
        assertThat(countries("db1", 3, 'G'))
                .containsExactly("(G1,\"Land G1\") (G2,\"Land G2\") (G4,\"Land G4\") (G5,\"Land G5\")");
        assertThat(findings()).isEmpty();
    }

    @Test
    @Tag("full")
    void rowsThatHaveExchangedAUniqueValueAreRepaired() throws Exception {
        fixture.deploy("", """
                --changeset ann:seat
                CREATE TABLE seat (id int PRIMARY KEY, code text NOT NULL UNIQUE);
                CREATE UNIQUE INDEX seat_upper ON seat (upper(code));
                INSERT INTO seat VALUES (1, 'a'), (2, 'b'), (3, 'c');
                """);
        fixture.contents("db1", 3, "reference.seat");
        String exchange = "SET session_replication_role = replica; UPDATE reference.seat SET code = '%s' WHERE id = %s";
        fixture.execute("db2", exchange.formatted("-", 1));
        fixture.execute("db2", exchange.formatted("a", 2));
        fixture.execute("db2", exchange.formatted("b", 1));

        assertThat(fixture.tables().repair()).containsEntry("db2", 2L);

        assertThat(new HashSet<>(fixture.contents("db1", 3, "reference.seat"))).containsExactly("(1,a) (2,b) (3,c)");
        assertThat(state("db2", "SET session_replication_role = replica; INSERT INTO reference.seat VALUES (4, 'A')"))
                .isEqualTo("23505");
        // The key of a row is one key, however it is written.
        fixture.execute(
                "db1",
                "INSERT INTO shardflake_catalog.reference_delete (table_name, key) VALUES ('reference.seat', '{1}')");
        fixture.tables().delete("seat", List.of("01"));
        assertThat(fixture.tables().status().unfinished()).isEmpty();
        assertThat(new HashSet<>(fixture.contents("db1", 3, "reference.seat"))).containsExactly("(2,b) (3,c)");
    }

    @Test
    void aShardMovesWithRowsThatReferToThem() throws Exception {
        insert("H1");
        fixture.execute("db1", "INSERT INTO shard_0000.customer (uid, country) VALUES (0, 'H1')");
        Mover mover = fixture.mover();
        mover.carryOut(mover.beginOrResume("db1", "db2", ShardSet.of(0), "a test"), false);

        assertThat(fixture.list("db2", "SELECT name FROM shard_0000.customer JOIN reference.country ON code = country"))
                .containsExactly("Land H1");
        assertThat(state("db2", "INSERT INTO shard_0000.customer (uid, country) VALUES (0, 'XX')"))
                .isEqualTo("23503");
    }

    @Test
    @Tag("full")
    void aShardIsNotCutOverWhileARowIsBeingDeleted() throws Exception {
        Mover impatient = fixture.mover(new MoveSettings(
                1,
                1 << 30,
                0,
                0,
                Duration.ofSeconds(10),
                Duration.ofMillis(90),
                Duration.ofMillis(30),
                Duration.ofSeconds(2),
                true));
        Mover patient = fixture.mover();
        Move move = patient.beginOrResume("db1", "db3", ShardSet.of(2), "a test");
        patient.follow(move.id());
        fixture.execute(
                "db1",
                "INSERT INTO shardflake_catalog.reference_delete (table_name, key) VALUES ('reference.country', '{XX}')");
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> impatient.cutOver(move.id(), ShardSet.of(2)))
                .withMessageContaining("a row of a reference table is being deleted");
        fixture.execute("db1", "DELETE FROM shardflake_catalog.reference_delete");
        patient.carryOut(patient.beginOrResume("db1", "db3", ShardSet.of(2), "a test"), false);
    }

    @Test
    void theRouterWritesAtHomeAndReadsAnywhere() throws Exception {
        try (ShardRouter router =
                ShardRouter.builder().catalog(postgres.database(0).uri()).build()) {
            router.reference().write(connection -> {
                Sql.execute(connection, "INSERT INTO reference.country VALUES ('I1', 'Land I1')");
                return true;
            });
            assertThat(router.reference().awaitEverywhere(Duration.ofSeconds(30)))
                    .isTrue();
            for (long uid = 0; uid < 12; uid++) {
                assertThat(router.<String, SQLException>read(
                                uid,
                                tx -> Sql.text(
                                        tx.connection(), "SELECT name FROM reference.country WHERE code = 'I1'")))
                        .isEqualTo("Land I1");
            }
            assertThat(router.reference()
                            .<String, SQLException>read(connection ->
                                    Sql.text(connection, "SELECT name FROM reference.country WHERE code = 'I1'")))
                    .isEqualTo("Land I1");
            assertThatExceptionOfType(IllegalStateException.class)
                    .isThrownBy(() -> router.write(1, tx -> router.reference().write(connection -> true)))
                    .withMessageContaining("inside the transaction of shard 1");
        }
    }

    @Test
    @Tag("full")
    void aTableOfEachShardBecomesAReferenceTable() throws Exception {
        String shards = """
                --changeset ann:colour
                CREATE TABLE colour (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, name text NOT NULL);
                INSERT INTO colour (name) VALUES ('red'), ('blue');
                --changeset ann:car
                CREATE TABLE car (id bigint PRIMARY KEY, colour int CONSTRAINT paint REFERENCES colour ON DELETE RESTRICT);
                """;
        fixture.deployShards(shards);
        fixture.deploy("", """
                --changeset ann:colour
                CREATE TABLE colour (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, name text);
                """);
        fixture.execute(fixture.serverOf(5), "UPDATE shard_0005.colour SET name = 'rosso' WHERE id = 1");
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> adopt("colour"))
                .withMessage(
                        "colour does not have the same rows in all shards: 1 of %s differ from the rest: shard_0005 on %s"
                                .formatted(ReferenceFixture.SHARDS, fixture.serverOf(5)));
        fixture.execute(fixture.serverOf(5), "UPDATE shard_0005.colour SET name = 'red' WHERE id = 1");

        assertThat(adopt("colour").copied()).isEqualTo(2);
        ReferenceTables.Adopted again = adopt("reference.colour");
        assertThat(again.copied()).isZero();
        assertThat(fixture.list("db2", "SELECT name FROM reference.colour ORDER BY id"))
                .containsExactly("red", "blue");
        fixture.execute("db1", "INSERT INTO reference.colour (name) VALUES ('green')");
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> adopt("colour"))
                .withMessage("reference.colour has other rows than the shards' colour");
        assertThat(fixture.deployShards(shards + again.changeSet()).failures())
                .isNotEmpty()
                .allSatisfy(failure -> assertThat(failure.toString())
                        .contains("the rows of colour are not those of reference.colour any more"));

        for (int shard = 0; shard < ReferenceFixture.SHARDS; shard++) {
            fixture.execute(
                    fixture.serverOf(shard),
                    String.format(Locale.ROOT, "INSERT INTO shard_%04d.colour (name) VALUES ('green')", shard));
        }
        assertThat(fixture.deployShards(shards + adopt("colour").changeSet()).failures())
                .isEmpty();
        fixture.execute(fixture.serverOf(5), "INSERT INTO shard_0005.car (colour) VALUES (3)");
        assertThat(state(fixture.serverOf(5), "INSERT INTO shard_0005.car (colour) VALUES (4)"))
                .isEqualTo("23503");
        assertThat(fixture.list(fixture.serverOf(5), "SELECT to_regclass('shard_0005.colour') IS NULL"))
                .containsExactly("t");

        // A move makes the shard's schema anew, with the changeset in it, on a server where the rows are other ones by
        // now.
        fixture.execute("db1", "INSERT INTO reference.colour (name) VALUES ('black')");
        String from = fixture.serverOf(5);
        Mover mover = fixture.mover();
        mover.carryOut(mover.beginOrResume(from, from.equals("db2") ? "db3" : "db2", ShardSet.of(5), "a test"), false);
        assertThat(fixture.list(fixture.serverOf(5), "SELECT colour FROM shard_0005.car"))
                .containsExactly("3");
    }

    private static ReferenceTables.Adopted adopt(String table) {
        return fixture.tables().adopt(table, ShardCatalog.at(fixture.catalog()).load());
    }

    @Test
    @Tag("full")
    void whatCannotBeDoneIsRefusedAndChangesNothing() throws Exception {
        refuses("names schema public", "CREATE TABLE public.x (id bigint PRIMARY KEY)");
        refuses("names schema shard_0001", "INSERT INTO shard_0001.customer (uid) VALUES (1)");
        refuses("has CREATE SCHEMA other, and reference tables have their own schema", "CREATE SCHEMA other");
        refuses("names schema other", "CREATE TABLE other.x (id int)");
        for (String server : List.of("db1", "db2", "db3")) {
            fixture.execute(server, "CREATE SCHEMA other");
        }
        refuses(
                "changes other.x, which is outside schema reference",
                "DO 'BEGIN EXECUTE ''CREATE TABLE other'' || ''.x (id int)''; END'");
        refuses("cannot be replicated", "CREATE TABLE keyless (name text)");
        refuses("would differ on db1 and db2", "INSERT INTO country VALUES ('XX', gen_random_uuid()::text)");
        insert("J1");
        String referred = "row (J1) of reference.country or changes its key, and shards on db";
        refuses(referred, "DELETE FROM country WHERE code = 'J1'");
        refuses(referred, "UPDATE country SET code = 'J2' WHERE code = 'J1'");
        refuses(" of reference.country or changes its key", "TRUNCATE country CASCADE");
        assertThat(countries("db1", 3, 'J')).containsExactly("(J1,\"Land J1\")");
        refuses("column \"nothing\" of relation \"country\" does not exist", "UPDATE country SET nothing = 1");
        refusesDeletion("there is no reference table nothing", "nothing", "IT");
        refusesDeletion("reference.country has no row XX", "country", "XX");
        refusesDeletion("the key of reference.country has 1 columns, and 2 values are given", "country", "IT", "IT");
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> fixture.tables().move("db9"))
                .withMessage("there is no server db9 in the shard map");
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> fixture.deploy("db2", ReferenceFixture.COUNTRY))
                .withMessage("the home of reference tables is db1");
        assertThat(countries("db1", 3, 'X')).containsExactly("");
        assertThat(fixture.list("db1", "SELECT to_regclass('other.x') IS NULL")).containsExactly("t");
    }

    private static void refuses(String why, String sql) {
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> fixture.deploy("", "--changeset ann:bad\n%s;\n".formatted(sql)))
                .withMessageContaining(why);
    }

    private static void refusesDeletion(String why, String table, String... key) {
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> fixture.tables().delete(table, List.of(key)))
                .withMessage(why);
    }
}
