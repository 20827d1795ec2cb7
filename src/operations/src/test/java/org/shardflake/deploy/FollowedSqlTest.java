/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.deploy.FollowedSql.Order;

/** The order in which a shard and its copy get a statement, and what is refused. */
class FollowedSqlTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ALTER TABLE a ADD COLUMN b text",
                "ALTER TABLE IF EXISTS ONLY shardflake_template_shard.\"A\" ADD b integer NOT NULL DEFAULT -1, ADD IF NOT EXISTS c boolean DEFAULT TRUE",
                "ALTER TABLE a ADD b numeric(10,2) DEFAULT 0.00 NOT NULL",
                "ALTER TABLE a ADD b varchar(10) DEFAULT 'x'::character varying(10)",
                "ALTER TABLE a ADD b bigint REFERENCES c ON DELETE CASCADE",
                "ALTER TABLE a ADD b text UNIQUE",
                "ALTER TABLE a ALTER COLUMN b DROP NOT NULL",
                "ALTER TABLE a DROP CONSTRAINT b, ALTER c SET DEFAULT now()",
                "ALTER TYPE mood ADD VALUE IF NOT EXISTS 'calm'",
                "DROP INDEX CONCURRENTLY IF EXISTS b",
                "UPDATE a SET b = 1; ALTER TABLE a ALTER COLUMN b DROP NOT NULL",
            })
    void whatAcceptsMoreGoesToTheCopyFirst(String sql) {
        assertThat(of(sql.split("; "))).isEqualTo(new FollowedSql(Order.COPY_FIRST, Optional.empty()));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ALTER TABLE a DROP COLUMN b",
                "ALTER TABLE a DROP b CASCADE",
                "ALTER TABLE a ALTER b SET NOT NULL",
                "ALTER TABLE a ADD CHECK (b > 0)",
                "ALTER TABLE a ADD CONSTRAINT c UNIQUE (b)",
                "ALTER TABLE a ADD CONSTRAINT c FOREIGN KEY (b) REFERENCES d (id) NOT VALID",
                "ALTER TABLE a VALIDATE CONSTRAINT c",
                "CREATE UNIQUE INDEX CONCURRENTLY b ON a (c)",
                "DROP TABLE IF EXISTS a, b",
            })
    void whatAcceptsLessGoesToTheShardFirst(String sql) {
        assertThat(of(sql)).isEqualTo(new FollowedSql(Order.SHARD_FIRST, Optional.empty()));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "CREATE INDEX b ON a (c)",
                "CREATE OR REPLACE VIEW b AS SELECT 1",
                "CREATE OR REPLACE FUNCTION f() RETURNS integer BEGIN ATOMIC SELECT 1; SELECT 2; END",
                "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON a FOR EACH ROW EXECUTE FUNCTION f()",
                "ALTER TABLE a ALTER COLUMN \"type\" SET DEFAULT 1, SET (fillfactor = 70), RESET (fillfactor)",
                "ALTER TABLE a ALTER b DROP DEFAULT, ALTER b SET STORAGE external",
                "ALTER TABLE a RENAME CONSTRAINT b TO c",
                "ALTER INDEX b RENAME TO c",
                "CREATE OR REPLACE AGGREGATE f (bigint) (SFUNC = int8pl, STYPE = bigint)",
                "ALTER AGGREGATE f (bigint) RENAME TO g",
                "DROP AGGREGATE f (bigint)",
                "ALTER TABLE a DISABLE ROW LEVEL SECURITY",
                "COMMENT ON COLUMN a.b IS 'truncate'",
                "GRANT SELECT ON a TO PUBLIC",
                "DROP VIEW b",
                "CREATE TABLE IF NOT EXISTS b (id bigint PRIMARY KEY, c bigint GENERATED ALWAYS AS IDENTITY)",
                "CREATE TABLE shardflake_template_shard.\"B\" (LIKE a INCLUDING ALL); CREATE UNIQUE INDEX ON ONLY \"B\" (c)",
                "CREATE TABLE b AS SELECT id FROM a; ALTER TABLE b ADD PRIMARY KEY (id), ADD d text NOT NULL",
            })
    void whatAcceptsTheSameGoesInAnyOrder(String sql) {
        assertThat(of(sql.split("; (?=CREATE|ALTER)"))).isEqualTo(new FollowedSql(Order.ANY, Optional.empty()));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "ALTER TABLE a ALTER COLUMN b TYPE bigint|changes the type of a column",
                "ALTER TABLE a ALTER b SET DATA TYPE text|changes the type of a column",
                "ALTER TABLE a RENAME COLUMN b TO c|renames",
                "ALTER TABLE a RENAME b TO c|renames",
                "ALTER TABLE a RENAME TO b|renames",
                "ALTER TABLE a ADD b timestamptz DEFAULT now()|each server would compute",
                "ALTER TABLE a ADD b text DEFAULT 1 + random()|each server would compute",
                "ALTER TABLE a ADD b text DEFAULT '1'::integer + random()|each server would compute",
                "ALTER TABLE a ADD b bigserial|each server would compute",
                "ALTER TABLE a ADD b integer GENERATED ALWAYS AS IDENTITY|each server would compute",
                "ALTER TABLE a ADD b integer NOT NULL|NOT NULL without a default",
                "ALTER TABLE a ADD b integer DEFAULT NULL NOT NULL|NOT NULL without a default",
                "ALTER TABLE a ADD b integer CHECK (b > 0)|together with a constraint",
                "ALTER TABLE a ADD b integer DEFAULT 1 REFERENCES c|together with a constraint",
                "ALTER TABLE a ADD b bigint PRIMARY KEY|changes a primary key",
                "ALTER TABLE a ADD CONSTRAINT b PRIMARY KEY USING INDEX c|changes a primary key",
                "ALTER TABLE a ADD b text, DROP COLUMN c|more and fewer rows",
                "CREATE TABLE IF NOT EXISTS b AS SELECT 1|fills a table that may be there",
                "CREATE UNLOGGED TABLE b (id bigint PRIMARY KEY)|rows are not replicated",
                "CREATE LOCAL TEMP TABLE b (id bigint PRIMARY KEY)|rows are not replicated",
                "CREATE MATERIALIZED VIEW b AS SELECT 1|is not known",
                "DROP TYPE b CASCADE|drops whatever depends",
                "ALTER TABLE a ENABLE ROW LEVEL SECURITY|is not known",
                "ALTER TABLE a ENABLE REPLICA TRIGGER b|is not known",
                "ALTER TABLE a ATTACH PARTITION b DEFAULT|is not known",
                "ALTER TABLE a OWNER TO b|is not known",
                "ALTER TABLE a REPLICA IDENTITY FULL|is not known",
                "ALTER TABLE a SET UNLOGGED|is not known",
                "ALTER TYPE mood RENAME VALUE 'a' TO 'b'|is not known",
                "ALTER DOMAIN d ADD CHECK (VALUE > 0)|is not known",
                "WITH x AS (SELECT f()) SELECT * FROM x|is not known",
                "SELECT f()|is not known",
                "TRUNCATE a|is not known",
                "DO 'BEGIN END'|is not known",
                "CALL p()|is not known",
                "REFRESH MATERIALIZED VIEW b|is not known",
            })
    void whatACopyCannotFollowIsRefused(String sql, String why) {
        assertThat(of(sql).refusal()).hasValueSatisfying(refusal -> {
            assertThat(refusal.what()).contains(why);
            assertThat(refusal.instead()).contains("when the move is done");
        });
    }

    @Test
    void onlyATableOfTheSameChangesetIsNew() {
        assertThat(of("CREATE TABLE b (id bigint PRIMARY KEY)", "CREATE UNIQUE INDEX ON a (c)")
                        .order())
                .isEqualTo(Order.SHARD_FIRST);
        assertThat(of("CREATE TABLE b (id bigint PRIMARY KEY)", "ALTER TABLE b OWNER TO c")
                        .refusal())
                .isPresent();
        assertThat(of("CREATE TABLE b (id bigint PRIMARY KEY)", "INSERT INTO b VALUES (1)")
                        .order())
                .isEqualTo(Order.ROWS);
    }

    @Test
    void tablesThatAreFilledAsTheyAreCreatedAreEmptiedOnTheCopy() {
        assertThat(FollowedSql.filledTables("CREATE TABLE a . \"B\" AS SELECT 1; CREATE TABLE c (d) AS (SELECT 1)"))
                .containsExactly("a . \"B\"", "c");
        assertThat(FollowedSql.filledTables("CREATE TABLE c (d integer GENERATED ALWAYS AS (1) STORED)"))
                .isEmpty();
    }

    @Test
    void rowsAreWrittenOnTheShardOnly() {
        assertThat(of("INSERT INTO a VALUES (1)", "DELETE FROM a").order()).isEqualTo(Order.ROWS);
        assertThat(FollowedSql.writesRows("WITH x AS (SELECT 1) INSERT INTO a SELECT * FROM x"))
                .isTrue();
        assertThat(FollowedSql.writesRows("CREATE VIEW b AS SELECT 1")).isFalse();
        // Written first, the rows would be missing on the copy when it is restricted.
        assertThat(of("UPDATE a SET b = 1", "ALTER TABLE a ALTER b SET NOT NULL")
                        .refusal())
                .isPresent();
        // A text that is run as a whole is either left out on the copy, or not.
        assertThat(of("UPDATE a SET b = 1; CREATE INDEX c ON a (b)").refusal()).isPresent();
    }

    private static FollowedSql of(String... sql) {
        return FollowedSql.of(new ShardChangeSet(
                "1",
                "ann",
                "a.sql",
                List.of(),
                "9:1",
                "",
                List.of(sql),
                Optional.empty(),
                true,
                false,
                false,
                false,
                false,
                Optional.empty(),
                Optional.empty(),
                Set.of(),
                Optional.empty(),
                List.of()));
    }
}
