/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.adoption.AdoptionPlan.Goes;
import org.shardflake.adoption.PlanFiles;
import org.shardflake.adoption.ReferredFirst;
import org.shardflake.assess.Assessment;
import org.shardflake.assess.Assessor;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.install.Installation;
import org.shardflake.jdbc.Sql;
import org.shardflake.reference.ReferenceTables;
import org.shardflake.server.ServerUrl;
import org.shardflake.server.SqlText;

/**
 * Compares old schemas with shards that a plan has made of them, by what tells shards apart elsewhere. The old schemas have the name of a
 * shard, so that they can be described as one.
 */
class AdoptionPlannerTest {

    private static final int SHARD = 3;

    /** Differences that a plan makes on purpose: ids of next_id, a column with the key, plain tables in place of partitioned ones. */
    private static final Pattern EXPECTED = Pattern.compile(
            String.join(
                    "|",
                    "column [^:]+: (?:smallint|integer) NOT NULL.* => bigint NOT NULL(?: DEFAULT .*next_id.*)?",
                    "column [^:]+: bigint NOT NULL (?:GENERATED .* AS IDENTITY|DEFAULT nextval.*) => bigint NOT NULL DEFAULT .*next_id.*",
                    "(?:trigger|function|comment on function) \\S+_of_\\w+\"?(?:\\(\\))?: missing => .*",
                    "column [^:]+: missing => (?:bigint|integer|character varying\\(5\\)) NOT NULL",
                    "columns of table [^:]+: (?<columns>.*) => \\k<columns>, \\S+",
                    "comment on column [^:]+: (?:missing => shard key|(?<comment>.*) => shard key; \\k<comment>)",
                    "constraint [^:]+_of_shard: missing => CHECK .*",
                    "constraint [^:]+: (?<key>FOREIGN KEY .* REFERENCES )(?<target>.*) => \\k<key>reference\\.\\k<target>",
                    "function .*: (?<head>.*)\nAS .* => \\k<head>\n SET search_path TO '@', 'public'\nAS .*",
                    "(?:index|constraint|columns of table|column|table) payment_2026.*: .* => missing",
                    "constraint [^:]+: .* REFERENCES payment_2026.* => missing",
                    "index [^:]+: (?<index>.*) ON ONLY (?<rest>.*) => \\k<index> ON \\k<rest>",
                    "table [^:]+: PARTITION BY .* => ",
                    "(?:view|column|columns of view) rented.*: .* => missing",
                    "(?:domain|constraint) release_year.*: .* => missing"),
            Pattern.DOTALL);

    /** A name that has no place for a schema before it. */
    private static final String LONG = "a".repeat(60);

    private static final String BILL = "SELECT b::text FROM shard_0003.\"Bill\" b";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @TempDir
    private Path directory;

    private final Map<String, String> differences = new TreeMap<>();

    @SuppressWarnings("NullAway.Init") // each test deploys one
    private AdoptionPlan plan;

    private int equal;

    @BeforeEach
    void begin() throws SQLException {
        if (postgres.restore("installed")) {
            return;
        }
        ServerUrl catalog = ServerUrl.parse(postgres.database(0).uri());
        Installation installation = Installation.at(catalog);
        installation.create(
                ShardMap.initial(
                        new Sharding(4),
                        IdLayout.DEFAULT,
                        List.of(new Server("db1", postgres.database(0).uri())),
                        Spread.CONTIGUOUS),
                "the first server");
        postgres.save("installed");
    }

    private void deploy(String old, String key) throws Exception {
        try (Connection connection = postgres.database(1).connect()) {
            Sql.execute(connection, "CREATE SCHEMA shard_0003; SET search_path = shard_0003, public; " + old);
        }
        ServerUrl url = ServerUrl.parse(postgres.database(1).uri());
        Path file = directory.resolve("adoption.yaml");
        plan = new PlanFiles(file, directory, false).plan(url, key, "").plan();
        assertThat(new PlanFiles(file, directory, true).plan(url, null, "").written())
                .isEmpty();

        ServerUrl catalog = ServerUrl.parse(postgres.database(0).uri());
        DeploySettings settings = DeploySettings.defaults(directory);
        if (plan.changelogs().reference() != null) {
            new ReferenceTables(catalog, Map.of("db1", catalog))
                    .deploy(directory.resolve("reference.sql"), settings, IdLayout.DEFAULT, "db1");
        }
        DeployReport report = Installation.at(catalog).deploy(directory.resolve("shards.sql"), settings, done -> {});
        assertThat(report.failures()).isEmpty();
        compare();
    }

    private Set<String> tables(Goes goes) {
        return plan.tables().stream()
                .filter(table -> table.goes() == goes)
                .map(AdoptionPlan.Table::target)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Finds differences in the tables of the shards, except for what schema deploy adds to every table. */
    private void compare() throws SQLException {
        Map<String, String> before;
        Map<String, String> after;
        try (Connection old = postgres.database(1).connect();
                Connection shards = postgres.database(0).connect()) {
            before = ShardDescription.describe(old, SHARD, true);
            after = ShardDescription.describe(shards, SHARD, true);
        }
        Set<String> all = new TreeSet<>(before.keySet());
        all.addAll(after.keySet());
        Set<String> others = new TreeSet<>(tables(Goes.REFERENCE));
        others.addAll(tables(Goes.STAYS));
        for (String object : all) {
            String was = before.getOrDefault(object, "missing");
            String is = after.getOrDefault(object, "missing");
            boolean isOfOthers =
                    others.stream().anyMatch(table -> object.matches("(.* )?" + Pattern.quote(table) + "([. _].*)?"));
            boolean isOurs =
                    object.matches("(owner|privileges) of .*|schema.*|sequence .*|comment on (sequence|schema).*")
                            || object.matches("(trigger|function|comment on .*) .*(shardflake|next_id).*");
            if (was.equals(is)) {
                equal++;
            } else if (!isOfOthers
                    && !isOurs
                    && !EXPECTED.matcher(object + ": " + was + " => " + is).matches()) {
                differences.put(object, was + " => " + is);
            }
        }
    }

    private static String schema(String file) throws IOException {
        return Files.readString(Path.of("src/test/resources/org/shardflake/deploy", file));
    }

    private List<String> leftOut() {
        return plan.leftOut().stream()
                .map(one -> (one.table() == null ? "" : one.table().table() + ": ") + one.problem())
                .sorted()
                .toList();
    }

    @Test
    void aFilmRentalBecomesTheSameTables() throws Exception {
        deploy(schema("rental.sql"), "shard_0003.customer.customer_id");

        assertThat(differences).isEmpty();
        assertThat(equal).isGreaterThan(50);
        assertThat(tables(Goes.SHARDS)).containsExactly("customer", "payment", "refund", "rental");
        assertThat(tables(Goes.REFERENCE)).containsExactly("film", "language");
        assertThat(leftOut())
                .containsExactly(
                        "film: the sequence of film_id",
                        "language: the sequence of language_id",
                        "payment: it is partitioned",
                        "payment: the sequence of payment_id",
                        "views: shard_0003.rented");
    }

    @Test
    void aMusicShopBecomesTheSameTables() throws Exception {
        deploy(schema("music.sql"), "shard_0003.\"Customer\".\"CustomerId\"");

        assertThat(differences).containsOnlyKeys("constraint Invoice.Invoice_Parent_fkey");
        assertThat(equal).isGreaterThan(30);
        assertThat(leftOut()).contains("Invoice: foreign key Invoice_Parent_fkey (Parent) to shard_0003.\"Invoice\"");
        List<AdoptionPlan.Table> references = plan.tables().stream()
                .filter(table -> table.goes() == Goes.REFERENCE)
                .toList();
        assertThat(ReferredFirst.sorted(
                        references, ServerUrl.parse(postgres.database(1).uri())))
                .extracting(placed -> placed.table().target() + (placed.refersToLater() ? " before" : ""))
                .containsExactly("Artist", "Label before", "Album", "Employee", "Genre", "Track");
    }

    @Test
    void aWholesalerBecomesTheSameTables() throws Exception {
        deploy(schema("wholesale.sql"), "shard_0003.customers.customer_id");

        assertThat(differences).isEmpty();
        assertThat(equal).isGreaterThan(30);
        // Its key is a text.
        assertThat(leftOut())
                .containsExactly(
                        "lookups of ids and unique values: the key is not an integer, which lookups of a column need",
                        "orders: orders_pkey is unique in each shard only, not over all");
    }

    @Test
    void namesAndTextsThatLiquibaseCouldMistakeArriveAsTheyAre() throws Exception {
        deploy(schema("odd.sql"), "shard_0003.user.id");

        assertThat(differences).containsOnlyKeys("function g(integer)"); // its path
        assertThat(leftOut())
                .contains(
                        "calc: rows that constraint nv refuses, which is NOT VALID",
                        "label: all its rows: an extension compares its primary key, by text");
        assertThat(equal).isGreaterThan(30);
    }

    /** Shards would get another name or text. */
    @Test
    void whatFormattedSqlCannotHaveIsRefused() throws SQLException {
        String person = "CREATE TABLE person (id bigint PRIMARY KEY, ";
        Map<String, String> refused = Map.of(
                person + "\"a\nb\" text)",
                "column \"a\nb\" of table shard_0003.person",
                person + "\"${shard.number}\" text)",
                "column \"${shard.number}\" of table shard_0003.person",
                person + "t text DEFAULT 'one;\ntwo')",
                "the value of column t of table shard_0003.person",
                person + "t text CONSTRAINT c CHECK (t <> 'a\rb'))",
                "constraint c of table shard_0003.person",
                "CREATE TYPE mood AS ENUM ('${shard.schema}'); " + person + "mood mood)",
                "type mood",
                "CREATE FUNCTION f(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '${shard.schema}'::text $$; "
                        + person
                        + "t text CHECK (f(t) <> ''))",
                "function f(text)",
                person + "t text); CREATE STATISTICS \"of ${shard.number}\" ON id, t FROM person",
                "statistics \"of ${shard.number}\" of table shard_0003.person");
        ServerUrl url = ServerUrl.parse(postgres.database(1).uri());
        Path file = directory.resolve("adoption.yaml");
        for (Map.Entry<String, String> one : refused.entrySet()) {
            try (Connection connection = postgres.database(1).connect()) {
                Sql.execute(
                        connection,
                        "DROP SCHEMA IF EXISTS shard_0003 CASCADE; CREATE SCHEMA shard_0003; SET search_path = shard_0003; "
                                + one.getKey()
                                + "; CREATE TABLE pet (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person)");
            }
            assertThatThrownBy(() -> new PlanFiles(file, directory, false).plan(url, "shard_0003.person.id", ""))
                    .isInstanceOf(ShardflakeException.class)
                    .hasMessageContaining(one.getValue() + " cannot be written into a changelog");
        }
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void whatDoesNotComeAlongIsNamed() throws Exception {
        deploy("""
                CREATE TABLE person (id bigint PRIMARY KEY);
                CREATE TABLE note (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person);
                CREATE TABLE old_note (PRIMARY KEY (id)) INHERITS (note);
                CREATE TABLE visit (id bigint, day integer, person bigint NOT NULL REFERENCES person, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
                CREATE INDEX ON visit (person);
                CREATE TABLE visit_1 PARTITION OF visit DEFAULT;
                CREATE INDEX visit_day ON visit_1 (day);
                ALTER TABLE visit_1 ADD CONSTRAINT later CHECK (day > 0);
                CREATE AGGREGATE total(bigint) (SFUNC = int8pl, STYPE = bigint);
                CREATE SCHEMA other;
                CREATE TABLE LONG (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person);
                CREATE TABLE other.LONG (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person);
                CREATE TABLE kind (id bigint PRIMARY KEY, above bigint REFERENCES kind ON DELETE SET NULL);
                ALTER TABLE LONG ADD kind bigint REFERENCES kind ON DELETE SET NULL;
                GRANT SELECT ON visit TO pg_monitor;
                GRANT UPDATE (day) ON visit TO PUBLIC;
                """.replace("LONG", LONG), "shard_0003.person.id");

        assertThat(tables(Goes.STAYS)).containsExactly("note");
        assertThat(tables(Goes.REFERENCE)).containsExactly("kind");
        assertThat(tables(Goes.SHARDS)).contains(LONG, SqlText.shortened("shard_0003_" + LONG));
        assertThat(leftOut())
                .contains(
                        "note: all its rows: tables inherit from it: old_note",
                        "visit: what only partitions have: constraint later of visit_1, index visit_day",
                        "aggregates and window functions: shard_0003.total(bigint)",
                        "privileges that others than the owners have been granted: of PUBLIC, pg_monitor");
    }

    /** Since PostgreSQL 18. */
    @Test
    void periodsAndNullsThatAreNotCheckedYet() throws Exception {
        assumeTrue(postgres.database(1).server().majorVersion() >= 18, "needs PERIOD");
        deploy("""
                CREATE EXTENSION btree_gist SCHEMA public;
                CREATE TABLE person (id bigint PRIMARY KEY);
                CREATE TABLE room (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person, during daterange NOT NULL, UNIQUE (person, during WITHOUT OVERLAPS), UNIQUE (id, during WITHOUT OVERLAPS));
                CREATE TABLE stay (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person, during daterange NOT NULL, FOREIGN KEY (person, PERIOD during) REFERENCES room (person, PERIOD during));
                CREATE TABLE repair (id bigint PRIMARY KEY, room bigint NOT NULL, during daterange NOT NULL, FOREIGN KEY (room, PERIOD during) REFERENCES room (id, PERIOD during));
                CREATE TABLE note (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person, note text);
                ALTER TABLE note ADD CONSTRAINT filled NOT NULL note NOT VALID;
                """, "shard_0003.person.id");

        assertThat(differences).containsEntry("column note.note", "text NOT NULL => text");
        assertThat(differences.keySet()).noneMatch(key -> key.startsWith("constraint"));
        assertThat(leftOut()).contains("note: that columns are NOT NULL, which is NOT VALID: note");
        // Its period is within another one, and not equal: no path leads from row to row.
        assertThat(tables(Goes.STAYS)).containsExactly("repair");
    }

    /** Each refers to the one before, and only the first has the key. */
    @Test
    void insertsAndUpdatesOfTheOldTablesGiveRowsTheirKeys() throws Exception {
        deploy("""
                CREATE TABLE person (id bigint PRIMARY KEY);
                CREATE TABLE pet (id bigint PRIMARY KEY, "the person" bigint NOT NULL REFERENCES person);
                CREATE TABLE visit ("on" date, pet bigint REFERENCES pet, PRIMARY KEY ("on", pet));
                CREATE TABLE "Bill" (number integer PRIMARY KEY, day date NOT NULL, pet bigint NOT NULL, FOREIGN KEY (day, pet) REFERENCES visit);
                CREATE TABLE note (id bigint PRIMARY KEY, pet bigint REFERENCES pet ON DELETE SET NULL);
                CREATE TABLE tag (id bigint PRIMARY KEY, pet bigint NOT NULL GENERATED ALWAYS AS (id / 10) STORED REFERENCES pet);
                """, "shard_0003.person.id");
        assertThat(leftOut())
                .contains("tag: the key of new rows: pet, which leads to it, is generated, and no trigger sees it");
        assertThat(Assessor.assess(ServerUrl.parse(postgres.database(1).uri()), "shard_0003.person.id", "")
                        .tables())
                .filteredOn(table -> table.obstacles().stream()
                        .anyMatch(
                                obstacle -> obstacle.problem().startsWith("pet, which leads to the key, is generated")))
                .extracting(Assessment.Table::name)
                .containsExactly("shard_0003.tag");
        try (Connection shards = postgres.database(0).connect()) {
            Sql.execute(shards, """
                    INSERT INTO shard_0003.person VALUES (7), (11);
                    INSERT INTO shard_0003.pet VALUES (1, 7), (2, 11);
                    INSERT INTO shard_0003.visit VALUES ('2026-01-01', 1), ('2026-01-01', 2);
                    INSERT INTO shard_0003."Bill" VALUES (5, '2026-01-01', 2)
                    """);
            assertThat(Sql.text(shards, "SELECT string_agg(v::text, ' ' ORDER BY v.pet) FROM shard_0003.visit v"))
                    .isEqualTo("(2026-01-01,1,7) (2026-01-01,2,11)");
            assertThat(Sql.text(shards, BILL)).isEqualTo("(5,2026-01-01,2,11)");

            Sql.execute(shards, """
                    INSERT INTO shard_0003.visit VALUES ('2026-01-02', 2);
                    UPDATE shard_0003."Bill" SET pet = 1
                    """);
            assertThat(Sql.text(shards, BILL)).isEqualTo("(5,2026-01-01,1,7)");
            Sql.execute(shards, "UPDATE shard_0003.visit SET pet = 1 WHERE \"on\" = '2026-01-02'");
            assertThat(Sql.text(shards, "SELECT v::text FROM shard_0003.visit v WHERE \"on\" = '2026-01-02'"))
                    .isEqualTo("(2026-01-02,1,7)");
            assertThatThrownBy(() -> Sql.execute(shards, "UPDATE shard_0003.\"Bill\" SET pet = 3"))
                    .hasMessageContaining("null value in column");
            Sql.execute(shards, "UPDATE shard_0003.pet SET \"the person\" = 11 WHERE id = 1");
            assertThat(Sql.text(shards, "SELECT string_agg(v::text, ' ' ORDER BY v) FROM shard_0003.visit v"))
                    .isEqualTo("(2026-01-01,1,11) (2026-01-01,2,11) (2026-01-02,1,11)");
            assertThat(Sql.text(shards, BILL)).isEqualTo("(5,2026-01-01,1,11)");
            Sql.execute(shards, """
                    INSERT INTO shard_0003.pet VALUES (3, 7);
                    INSERT INTO shard_0003.note VALUES (1, 3);
                    DELETE FROM shard_0003.pet WHERE id = 3
                    """);
            assertThat(Sql.text(shards, "SELECT n::text FROM shard_0003.note n"))
                    .isEqualTo("(1,,7)");
            // The application changes the key, too.
            Sql.execute(shards, "UPDATE shard_0003.\"Bill\" SET pet = 2, \"the person\" = 15");
            assertThat(Sql.text(shards, BILL)).isEqualTo("(5,2026-01-01,2,15)");
        }
    }

    @Test
    void aKeyThatTheOldDatabaseMadeUpIsLeftToTheApplication() throws Exception {
        deploy(
                "CREATE TABLE person (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text);"
                        + "CREATE TABLE pet (id bigserial PRIMARY KEY, person uuid NOT NULL DEFAULT gen_random_uuid() REFERENCES person, tag uuid DEFAULT gen_random_uuid())",
                "shard_0003.person.id");

        assertThat(differences).containsOnlyKeys("column person.id", "column pet.person");
        assertThat(leftOut()).contains("person: the default of id", "pet: the default of person");
    }
}
