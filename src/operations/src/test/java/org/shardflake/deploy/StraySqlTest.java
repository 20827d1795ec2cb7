/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.server.internal.sqltext.SqlTokens;

class StraySqlTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "CREATE TABLE public.photo (id bigint)",
                "CREATE TABLE PUBLIC . photo (id bigint)",
                "CREATE TABLE \"public\".\"photo\" (id bigint)",
                "CREATE TABLE public/* here */.photo (id bigint)",
                "INSERT INTO shard_0001.photo VALUES (1)",
                "SELECT 'it''s' || E'\\'' FROM public.photo",
                "SELECT $a$ $$ $a$ FROM public.photo",
                "SELECT /* /* nested */ */ 1 FROM public.photo",
                "SELECT 1 -- comment '\n FROM public.photo",
                "ALTER TABLE photo SET SCHEMA public",
                "CREATE SCHEMA IF NOT EXISTS shard_0007",
                "GRANT SELECT ON ALL TABLES IN SCHEMA public TO app",
                "SELECT 'public.photo'::regclass",
                "SELECT setval('\"public\".photo_id_seq', 1)",
                "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $f$ BEGIN INSERT INTO shard_0001.photo VALUES (1); END $f$",
                "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $f$ BEGIN EXECUTE $q$ DROP TABLE public.x $q$; END $f$",
                "CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM public.photo'",
                "CREATE FUNCTION f() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT count(*) FROM public.photo; END",
                "DO LANGUAGE plpgsql $$ BEGIN PERFORM 1 FROM public.photo; END $$",
                "COMMIT",
                "SELECT 1; COMMIT",
                "/* well */ Rollback",
                "BEGIN; SELECT 1; END",
                "START TRANSACTION",
                "RELEASE SAVEPOINT s",
                "PREPARE TRANSACTION 'x'",
                "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; COMMIT",
                "CREATE RULE r AS ON INSERT TO photo DO (SELECT 1; SELECT 2); COMMIT",
                "SET search_path = other",
                "SET LOCAL search_path TO ''",
                "SET SCHEMA 'other'",
                "RESET ALL",
                "DO $$ BEGIN SET LOCAL search_path = x; END $$",
                "DO $$ BEGIN PERFORM set_config('search_path', 'x', true); END $$",
                "SELECT set_config('search_path', '', false)",
                "CREATE SCHEMA audit",
                "CREATE SCHEMA IF NOT EXISTS \"Audit\" AUTHORIZATION app",
                "DROP SCHEMA audit CASCADE",
                "DO $$ BEGIN CREATE SCHEMA audit; EXCEPTION WHEN duplicate_schema THEN NULL; END $$",
                "DO $$ BEGIN EXECUTE 'CREATE SCHEMA audit'; END $$",
                "ALTER TABLE photo SET SCHEMA audit",
                "GRANT SELECT ON ALL TABLES IN SCHEMA audit TO app",
                "CREATE EXTENSION citext",
                "CREATE EXTENSION IF NOT EXISTS \"uuid-ossp\"; SELECT 1",
                "CREATE TABLE audit.log (id bigint)",
                "CREATE TABLE IF NOT EXISTS \"Audit\".log (id bigint)",
                "CREATE VIEW audit.v AS SELECT 1",
                "CREATE INDEX i ON audit.log (id)",
                "CREATE TRIGGER t AFTER INSERT ON audit.log EXECUTE FUNCTION f()",
                "INSERT INTO audit.log SELECT 1",
                "WITH x AS (SELECT 1) INSERT INTO audit.log SELECT * FROM x",
                "DELETE FROM audit.log",
                "UPDATE audit.log SET a = 1",
                "SELECT * FROM a JOIN audit.log b ON a.x = b.x",
                "TRUNCATE audit.log",
                "ALTER TABLE photo ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES audit.log (id)",
                "CREATE FUNCTION audit.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
                "SELECT audit.f(1)",
                "SELECT 'x'::audit.kind",
                "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO audit.log VALUES (NEW.id); RETURN NEW; END $$",
                "INSERT INTO reference.country VALUES (1)",
                "UPDATE ONLY reference.country SET a = 1",
                "DELETE FROM reference.country",
                "TRUNCATE TABLE reference.country",
                "ALTER TABLE reference.country ADD COLUMN x int",
                "CREATE TABLE reference.x (id int)",
                "DROP TABLE IF EXISTS reference.country",
                "CREATE INDEX ON reference.country (a)",
                "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE reference.country SET n = n + 1; RETURN NULL; END $$",
                "MERGE INTO reference.country USING x ON true WHEN MATCHED THEN DELETE",
            })
    void findsWhatLeavesTheShard(String sql) {
        assertThat(StraySql.find(sql, false)).isPresent();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "CREATE TABLE photo (id bigint, public boolean, shard_0001 text)",
                "SELECT public FROM photo -- public.photo; COMMIT",
                "SELECT 'public.photo', E'\\'public.photo', $$public.photo; COMMIT$$ FROM photo",
                "COMMENT ON TABLE photo IS 'see public.photo'",
                "COMMENT ON TABLE photo IS $$public.photo; COMMIT;$$",
                "SELECT \"a.public.b\" FROM photo",
                "SELECT republic.x, xshard_0001.y, shard_00011.z",
                "GRANT SELECT ON photo TO public",
                "CREATE TABLE shardflake_template_shard.photo (id bigint)",
                "SET search_path = shardflake_template_shard, public",
                "SELECT set_config('search_path', 'shardflake_template_shard', true)",
                "SET lock_timeout = '1s'",
                "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$ BEGIN COMMIT; END $$",
                "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN SET LOCAL search_path = pg_catalog; COMMIT; END $$",
                "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END",
                "CREATE TRIGGER t BEFORE UPDATE ON photo FOR EACH ROW EXECUTE FUNCTION f()",
                "ALTER ROLE app SET search_path = x",
                "PREPARE commit AS SELECT 1",
                "CREATE EXTENSION citext SCHEMA public",
                "CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA extensions",
                "SELECT a.x, b.y FROM photo a JOIN album b ON a.x = b.y WHERE a.z IS DISTINCT FROM b.z",
                "SELECT extract(epoch FROM a.created), substring(a.title FROM a.n), trim(both FROM a.title) FROM photo a",
                "UPDATE photo p SET n = a.n FROM album a WHERE a.id = p.album_id",
                "CREATE TABLE t (schema text, audit text)",
                "SELECT schema FROM t",
                "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN SELECT count(*) INTO NEW.n FROM photo; IF NEW.a IS DISTINCT FROM OLD.a THEN RETURN NEW; END IF; EXECUTE 'x' USING NEW.id; RETURN NEW; END $$",
                "CREATE TRIGGER t BEFORE INSERT OR UPDATE OF a ON photo FOR EACH ROW WHEN (NEW.a > 1) EXECUTE FUNCTION f()",
                "INSERT INTO photo AS p (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE p.n < excluded.n",
                "ALTER TABLE photo ADD CONSTRAINT f FOREIGN KEY (c) REFERENCES reference.country (id)",
                "CREATE VIEW v AS SELECT p.id, c.name FROM photo p JOIN reference.country c ON c.id = p.country_id",
                "SELECT pg_catalog.now(), information_schema.tables.table_name FROM information_schema.tables",
                "SELECT shardflake.id_shard(id) FROM shardflake_template_shard.photo",
                "CREATE POLICY p ON photo USING (photo.uid = 1)",
                "ALTER TABLE photo DROP COLUMN a; COMMENT ON COLUMN photo.b IS 'x'",
                "GRANT SELECT ON photo TO app; SELECT p.id FROM photo p ORDER BY p.id",
            })
    void letsTheRestBe(String sql) {
        assertThat(StraySql.find(sql, false)).isEmpty();
    }

    @Test
    void publicMayBeMeant() {
        assertThat(StraySql.find("ALTER TABLE photo ADD tag public.citext", true))
                .isEmpty();
        assertThat(StraySql.find("SELECT public.f(), shard_0001.f()", true)).hasValueSatisfying(stray -> {
            assertThat(stray.at()).isEqualTo(19);
            assertThat(stray.use().what()).startsWith("names schema shard_0001, ");
        });
    }

    @Test
    void saysWhereItIsInABody() {
        String sql = "DO $x$\nBEGIN\n  DELETE FROM public.photo;\nEND $x$";

        assertThat(StraySql.find(sql, false))
                .hasValueSatisfying(
                        stray -> assertThat(sql.substring(stray.at())).startsWith("public.photo"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "SET ROLE app",
                "/* first */ RESET statement_timeout",
                "SELECT 1; SET LOCAL lock_timeout = 1",
                "CREATE TEMP TABLE t (n int)",
                "DO $$ BEGIN PERFORM set_config('a.b', 'c', false); END $$",
                "SELECT pg_advisory_lock(1)",
                "LISTEN x",
            })
    void seesWhatMayReachTheNextShard(String sql) {
        assertThat(StraySql.lasts(sql)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "UPDATE photo\nSET title = 'x'",
                "CREATE FUNCTION f() RETURNS int LANGUAGE sql\nSET search_path = x AS 'SELECT 1'",
                "SELECT 'SET ROLE app; temp'",
            })
    void seesWhatDoesNot(String sql) {
        assertThat(StraySql.lasts(sql)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"'", "\"", "$$", "/*", "--", "E'\\", "$x", "-", "/", "$", "'a", "\"public", "$$public.x"})
    void bearsWhatIsNotClosed(String sql) {
        StraySql.find(sql, false);
        SqlTokens.withoutComments(sql);
        StraySql.lasts(sql);
    }

    @Test
    void cutsCommentsButNotThoseInABody() {
        assertThat(SqlTokens.withoutComments("""
                -- first
                SELECT/**/1, 'a -- b', "c /* d */", -- then
                $$ -- e /* f */ $$;
                /* last */""")).isEqualTo("""
                SELECT 1, 'a -- b', "c /* d */",\s
                $$ -- e /* f */ $$;""");
    }
}
