/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.sql.FunctionLibrary;

/** Whatever is changed by hand on one shard is seen, and a move of that shard carries it or refuses with its name. */
class ShardDescriptionTest {

    private static final ShardSet CHANGED = ShardSet.of(1);

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private static DeployFixture fixture;

    private Connection source;
    private Connection target;

    @BeforeAll
    static void deploy(@TempDir Path directory) throws Exception {
        for (int server = 0; server < 2; server++) {
            try (Connection connection = postgres.database(server).connect()) {
                Sql.execute(connection, """
                        DO $$ BEGIN
                            IF to_regrole('describe_app') IS NULL THEN CREATE ROLE describe_app; END IF;
                            IF to_regrole('describe_reader') IS NULL THEN CREATE ROLE describe_reader; END IF;
                        END $$""");
            }
        }
        try (Connection connection = postgres.database(1).connect()) {
            FunctionLibrary.deploy(connection, org.shardflake.IdLayout.DEFAULT.epochMillis());
        }
        fixture = new DeployFixture(postgres, 1, 3, directory);
        try (InputStream text =
                Objects.requireNonNull(ShardDescriptionTest.class.getResourceAsStream("everything.sql"))) {
            DeployReport report = fixture.deploy(
                    fixture.write("everything.sql", new String(text.readAllBytes(), StandardCharsets.UTF_8)));
            assertThat(report.failures()).isEmpty();
            assertThat(report.differing()).isEmpty();
        }
    }

    @AfterAll
    static void drop() throws SQLException {
        fixture.drop();
        for (int server = 0; server < 2; server++) {
            try (Connection connection = postgres.database(server).connect()) {
                Sql.execute(
                        connection,
                        "DROP OWNED BY describe_app, describe_reader; DROP ROLE describe_app, describe_reader");
            }
        }
    }

    @BeforeEach
    void begin() throws SQLException {
        source = postgres.database(0).connect();
        source.setAutoCommit(false);
        target = postgres.database(1).connect();
    }

    @AfterEach
    void undo() throws SQLException {
        source.rollback();
        source.close();
        target.close();
    }

    private List<String> drift() throws SQLException {
        return DriftSearch.differences(
                ShardDescription.describe(source, 2, false),
                ShardDescription.describe(source, 1, false),
                "in the other shards");
    }

    @Test
    void shardsOfOneChangelogAreEqualAndMoveAsTheyAre() throws SQLException {
        assertThat(drift()).isEmpty();
        assertThat(ShardDescription.fingerprints(source, ShardSet.range(0, 2), false)
                        .values())
                .hasSize(3)
                .containsOnly(
                        ShardDescription.fingerprints(source, CHANGED, false).get(1));
        assertThat(new ShardSchemaCopy(source, target).rehearse(CHANGED)).isEmpty();
    }

    @Test
    void longNamesAreComparedWhole() throws SQLException {
        String table = "t".repeat(63);
        for (int shard = 0; shard < 3; shard++) {
            Sql.execute(source, """
                    SET LOCAL search_path = shard_000%1$s;
                    CREATE TABLE %2$s (id bigint PRIMARY KEY, one integer, other text);
                    CREATE FUNCTION %3$s(%2$s) RETURNS integer LANGUAGE sql RETURN 1;
                    """.formatted(shard, table, "f".repeat(63)));
        }
        assertThat(drift()).isEmpty();

        Sql.execute(
                source,
                "ALTER TABLE shard_0001.%1$s RENAME one TO another; ALTER TABLE shard_0001.%1$s RENAME other TO one; ALTER TABLE shard_0001.%1$s RENAME another TO other"
                        .formatted(table));

        assertThat(drift())
                .anySatisfy(said -> assertThat(said).startsWith("column %s.one".formatted(table)))
                .anySatisfy(said -> assertThat(said).startsWith("column %s.other".formatted(table)));
    }

    /** What changes, the line that tells it, and whether a move brings it along; s. is the shard's schema. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "ALTER TABLE s.photo OWNER TO describe_app | owner of table photo | carried",
                "GRANT SELECT, INSERT ON s.photo TO describe_reader | privileges of table photo | carried",
                "COMMENT ON TABLE s.photo IS NULL | comment on table photo | carried",
                "DROP POLICY own ON s.photo | policy photo.own | refused",
                "ALTER TABLE s.photo DISABLE TRIGGER touch | trigger photo.touch | refused",
                "ALTER TABLE s.photo ALTER COLUMN title SET NOT NULL | column photo.title | refused",
                "ALTER DOMAIN s.nick DROP CONSTRAINT short | constraint nick.short | refused",
                "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 's.photo_uid'::regclass | index photo_uid | refused"
            })
    void whatIsChangedByHandIsSeenAndMovedOrRefused(String sql, String line, String outcome) throws SQLException {
        Sql.execute(source, sql.replaceAll("\\bs\\b", "shard_0001"));

        assertThat(drift()).anySatisfy(said -> assertThat(said).startsWith(line));
        List<String> refused =
                new ShardSchemaCopy(source, target).rehearse(CHANGED).getOrDefault(1, List.of());
        if (outcome.equals("carried")) {
            assertThat(refused).isEmpty();
        } else {
            assertThat(refused).anySatisfy(said -> assertThat(said).startsWith(line));
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "ALTER SCHEMA s OWNER TO describe_app | owner of schema | carried",
                "GRANT USAGE ON SCHEMA s TO describe_reader | privileges of schema | carried",
                "COMMENT ON SCHEMA s IS 'ours' | comment on schema | carried",
                "ALTER TABLE s.visit_2025 OWNER TO describe_app | owner of table visit_2025 | carried",
                "ALTER VIEW s.mine OWNER TO describe_app | owner of view mine | carried",
                "ALTER MATERIALIZED VIEW s.per_uid OWNER TO describe_app | owner of materialized view per_uid | carried",
                "ALTER SEQUENCE s.ticket OWNER TO describe_app | owner of sequence ticket | carried",
                "ALTER FUNCTION s.secret() OWNER TO describe_app | owner of function secret() | carried",
                "ALTER PROCEDURE s.tidy OWNER TO describe_app | owner of procedure tidy(integer) | carried",
                "ALTER AGGREGATE s.total (integer) OWNER TO describe_app | owner of aggregate total(integer) | carried",
                "ALTER TYPE s.mood OWNER TO describe_app | owner of type mood | carried",
                "ALTER TYPE s.size OWNER TO describe_app | owner of type size | carried",
                "ALTER TYPE s.span OWNER TO describe_app | owner of type span | carried",
                "ALTER DOMAIN s.nick OWNER TO describe_app | owner of domain nick | carried",
                "ALTER STATISTICS s.photo_both OWNER TO describe_app | owner of statistics photo_both | carried",
                "ALTER COLLATION s.folded OWNER TO describe_app | owner of collation folded | carried",
                "REVOKE SELECT ON s.photo FROM PUBLIC | privileges of table photo | carried",
                "REVOKE ALL ON s.comment FROM CURRENT_USER | privileges of table comment | carried",
                "GRANT USAGE ON SCHEMA s TO describe_app; GRANT SELECT ON s.photo TO describe_app WITH GRANT OPTION; SET LOCAL ROLE describe_app; GRANT SELECT ON s.photo TO describe_reader; RESET ROLE | privileges of table photo | carried",
                "GRANT UPDATE (title) ON s.photo TO describe_reader; GRANT DELETE ON s.photo TO describe_reader | privileges of column photo.title | carried",
                "GRANT SELECT ON s.mine TO describe_reader | privileges of view mine | carried",
                "GRANT USAGE ON SEQUENCE s.ticket TO describe_reader | privileges of sequence ticket | carried",
                "REVOKE EXECUTE ON FUNCTION s.secret() FROM PUBLIC | privileges of function secret() | carried",
                "GRANT EXECUTE ON PROCEDURE s.tidy TO describe_reader | privileges of procedure tidy(integer) | carried",
                "REVOKE USAGE ON TYPE s.mood FROM PUBLIC | privileges of type mood | carried",
                "GRANT USAGE ON DOMAIN s.nick TO describe_reader | privileges of domain nick | carried",
                "ALTER DEFAULT PRIVILEGES IN SCHEMA s GRANT SELECT ON TABLES TO describe_reader | default privileges for tables of | carried",
                "ALTER DEFAULT PRIVILEGES FOR ROLE describe_app IN SCHEMA s GRANT EXECUTE ON FUNCTIONS TO describe_reader WITH GRANT OPTION | default privileges for functions of describe_app | carried",
                "COMMENT ON COLUMN s.photo.title IS 'it''s ''quoted''' | comment on column photo.title | carried",
                "COMMENT ON COLUMN s.size.unit IS 'cm' | comment on column size.unit | carried",
                "COMMENT ON VIEW s.mine IS 'mine' | comment on view mine | carried",
                "COMMENT ON INDEX s.photo_uid IS 'by uid' | comment on index photo_uid | carried",
                "COMMENT ON CONSTRAINT known ON s.photo IS 'known' | comment on constraint photo.known | carried",
                "COMMENT ON CONSTRAINT short ON DOMAIN s.nick IS 'short' | comment on constraint nick.short | carried",
                "COMMENT ON TRIGGER touch ON s.photo IS 'touch' | comment on trigger photo.touch | carried",
                "COMMENT ON RULE keep ON s.comment IS 'keep' | comment on rule comment.keep | carried",
                "COMMENT ON POLICY own ON s.photo IS 'own' | comment on policy photo.own | carried",
                "COMMENT ON FUNCTION s.plain(text) IS 'plain' | comment on function plain(text) | carried",
                "COMMENT ON PROCEDURE s.tidy IS 'tidy' | comment on procedure tidy(integer) | carried",
                "COMMENT ON AGGREGATE s.total (integer) IS 'total' | comment on aggregate total(integer) | carried",
                "COMMENT ON TYPE s.mood IS 'mood' | comment on type mood | carried",
                "COMMENT ON DOMAIN s.nick IS 'name' | comment on domain nick | carried",
                "COMMENT ON STATISTICS s.photo_both IS 'both' | comment on statistics photo_both | carried",
                "COMMENT ON COLLATION s.folded IS 'folded' | comment on collation folded | carried",
                "COMMENT ON SEQUENCE s.ticket IS 'ticket' | comment on sequence ticket | carried",
                "COMMENT ON MATERIALIZED VIEW s.per_uid IS 'per' | comment on materialized view per_uid | carried",
                "CREATE POLICY other ON s.photo USING (true) | policy photo.other | refused",
                "ALTER POLICY own ON s.photo TO describe_reader | policy photo.own | refused",
                "ALTER POLICY own ON s.photo USING (uid = 2) | policy photo.own | refused",
                "ALTER TABLE s.photo DISABLE ROW LEVEL SECURITY | table photo | refused",
                "ALTER TABLE s.photo FORCE ROW LEVEL SECURITY | table photo | refused",
                "ALTER TABLE s.comment DISABLE RULE keep | rule comment.keep | refused",
                "DROP RULE keep ON s.comment | rule comment.keep | refused",
                "CREATE RULE more AS ON INSERT TO s.comment DO ALSO NOTHING | rule comment.more | refused",
                "ALTER TABLE s.photo ENABLE ALWAYS TRIGGER touch | trigger photo.touch | refused",
                "DROP TRIGGER many ON s.comment; CREATE TRIGGER many AFTER INSERT ON s.comment FOR EACH STATEMENT EXECUTE FUNCTION s.touched() | trigger comment.many | refused",
                "ALTER TABLE s.photo DISABLE TRIGGER ALL | triggers of constraint photo.of_photo | refused",
                "ALTER TABLE s.photo SET (fillfactor = 80) | table photo | refused",
                "ALTER TABLE s.photo SET (toast.autovacuum_enabled = false) | table photo | refused",
                "ALTER TABLE s.comment SET UNLOGGED | table comment | refused",
                "ALTER TABLE s.comment REPLICA IDENTITY FULL | table comment | refused",
                "ALTER TABLE s.comment REPLICA IDENTITY USING INDEX comment_pkey | index comment_pkey | refused",
                "ALTER TABLE s.comment SET WITHOUT CLUSTER | index comment_pkey | refused",
                "ALTER TABLE s.video NO INHERIT s.photo | table video | refused",
                "ALTER TABLE s.visit DETACH PARTITION s.visit_2025 | table visit_2025 | refused",
                "ALTER TABLE s.visit DETACH PARTITION s.visit_2025; ALTER TABLE s.visit ATTACH PARTITION s.visit_2025 FOR VALUES FROM ('2025-01-01') TO ('2025-07-01') | table visit_2025 | refused",
                "CREATE TABLE s.visit_2027 PARTITION OF s.visit FOR VALUES FROM ('2027-01-01') TO ('2028-01-01'); SELECT shardflake.add_fence('s.visit_2027') | table visit_2027 | refused",
                "ALTER TABLE s.photo ALTER COLUMN title SET STATISTICS 500 | column photo.title | refused",
                "ALTER TABLE s.photo ALTER COLUMN title SET STORAGE PLAIN | column photo.title | refused",
                "ALTER TABLE s.photo ALTER COLUMN title SET COMPRESSION pglz | column photo.title | refused",
                "ALTER TABLE s.photo ALTER COLUMN uid SET (n_distinct = 5) | column photo.uid | refused",
                "ALTER TABLE s.photo ALTER COLUMN title SET DEFAULT 'other' | column photo.title | refused",
                "ALTER TABLE s.photo ALTER COLUMN place TYPE text COLLATE \"C\" | column photo.place | refused",
                "ALTER TABLE s.photo ALTER COLUMN number SET GENERATED ALWAYS | column photo.number | refused",
                "ALTER TABLE s.photo ALTER COLUMN key DROP EXPRESSION | column photo.key | refused",
                "ALTER TABLE s.comment DROP COLUMN text, ADD COLUMN text text; ALTER TABLE s.comment ALTER COLUMN text SET STORAGE EXTERNAL, ADD COLUMN z integer | columns of table comment | refused",
                "ALTER VIEW s.mine ALTER COLUMN title SET DEFAULT 'x' | column mine.title | refused",
                "ALTER TABLE s.photo DROP CONSTRAINT known, ADD CONSTRAINT known CHECK (uid > 0) NOT VALID | constraint photo.known | refused",
                "ALTER TABLE s.photo DROP CONSTRAINT known, ADD CONSTRAINT known CHECK (uid > 0) NO INHERIT | constraint photo.known | refused",
                "ALTER TABLE s.comment ALTER CONSTRAINT of_photo DEFERRABLE INITIALLY DEFERRED | constraint comment.of_photo | refused",
                "ALTER TABLE s.comment DROP CONSTRAINT of_photo, ADD CONSTRAINT of_photo FOREIGN KEY (photo_id) REFERENCES s.photo | constraint comment.of_photo | refused",
                "ALTER TABLE s.photo DROP CONSTRAINT photo_number_excl | constraint photo.photo_number_excl | refused",
                "ALTER DOMAIN s.nick ADD CONSTRAINT long CHECK (length(VALUE) > 0) NOT VALID | constraint nick.long | refused",
                "ALTER DOMAIN s.nick DROP NOT NULL | domain nick | refused",
                "ALTER DOMAIN s.nick SET DEFAULT 'someone' | domain nick | refused",
                "ALTER TYPE s.mood ADD VALUE 'fine' AFTER 'ok' | type mood | refused",
                "ALTER TYPE s.mood RENAME VALUE 'ok' TO 'fine' | type mood | refused",
                "ALTER TYPE s.size ADD ATTRIBUTE depth integer | type size | refused",
                "ALTER TYPE s.size RENAME ATTRIBUTE unit TO measure | type size | refused",
                "CREATE TYPE s.more AS RANGE (subtype = text) | type more | refused",
                "ALTER INDEX s.photo_plain SET (fillfactor = 90) | index photo_plain | refused",
                "ALTER INDEX s.photo_plain ALTER COLUMN 1 SET STATISTICS 300 | index photo_plain | refused",
                "DROP INDEX s.photo_uid; CREATE INDEX photo_uid ON s.photo (uid DESC NULLS LAST) | index photo_uid | refused",
                "DROP INDEX s.visit_page; CREATE INDEX visit_page ON ONLY s.visit (page) | index visit_2025_page_idx | refused",
                "ALTER STATISTICS s.photo_both SET STATISTICS 50 | statistics photo_both | refused",
                "DROP STATISTICS s.photo_both | statistics photo_both | refused",
                "ALTER VIEW s.mine SET (security_invoker = true) | view mine | refused",
                "ALTER VIEW s.mine RESET (security_barrier) | view mine | refused",
                "CREATE OR REPLACE VIEW s.mine WITH (security_barrier) AS SELECT id, title FROM s.photo WHERE uid = 2 WITH LOCAL CHECK OPTION | view mine | refused",
                "DROP MATERIALIZED VIEW s.per_uid | materialized view per_uid | refused",
                "ALTER SEQUENCE s.ticket CYCLE | sequence ticket | refused",
                "ALTER SEQUENCE s.ticket START 7 | sequence ticket | refused",
                "ALTER SEQUENCE s.ticket OWNED BY s.comment.text | sequence ticket | refused",
                "ALTER SEQUENCE s.ticket AS bigint | sequence ticket | refused",
                "ALTER FUNCTION s.plain(text) COST 99 | function plain(text) | refused",
                "ALTER FUNCTION s.plain(text) LEAKPROOF | function plain(text) | refused",
                "ALTER FUNCTION s.plain(text) PARALLEL UNSAFE | function plain(text) | refused",
                "ALTER FUNCTION s.plain(text) CALLED ON NULL INPUT | function plain(text) | refused",
                "ALTER FUNCTION s.secret() SECURITY INVOKER | function secret() | refused",
                "ALTER FUNCTION s.secret() SET work_mem = '8MB' | function secret() | refused",
                "CREATE OR REPLACE PROCEDURE s.tidy(days integer DEFAULT 4) LANGUAGE plpgsql AS 'BEGIN NULL; END' | procedure tidy(integer) | refused",
                "CREATE OR REPLACE AGGREGATE s.total (integer) (sfunc = int4pl, stype = integer, initcond = '7') | aggregate total(integer) | refused",
                "CREATE FUNCTION s.more() RETURNS integer LANGUAGE sql AS 'SELECT 1' | function more() | refused",
                "CREATE COLLATION s.other (provider = icu, locale = 'fr') | collation other | refused",
                "CREATE OPERATOR s.=== (leftarg = integer, rightarg = integer, function = int4eq) | object operator ===(integer,integer) | refused",
                "CREATE TEXT SEARCH CONFIGURATION s.words (COPY = simple) | object text search configuration words | refused",
                "CREATE CONVERSION s.back FOR 'UTF8' TO 'LATIN1' FROM utf8_to_iso8859_1 | object conversion back | refused"
            })
    @Tag("full")
    void anythingElseToo(String sql, String line, String outcome) throws SQLException {
        whatIsChangedByHandIsSeenAndMovedOrRefused(sql, line, outcome);
    }
}
