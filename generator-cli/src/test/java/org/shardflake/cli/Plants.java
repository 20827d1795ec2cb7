/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Array;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Functions, aggregates and operators with the names of PostgreSQL's own, in a schema of a database's search_path. They have every combination of usual types, those that PostgreSQL has itself and those that it lacks but that would
 * fit an argument better. Whatever calls one fails, and is counted, also if the failure is swallowed.
 */
final class Plants {

    private static final String SEED = """
            CREATE SCHEMA planted;
            GRANT USAGE ON SCHEMA planted TO PUBLIC;
            CREATE SEQUENCE planted.calls MINVALUE 0 START 0;
            CREATE SEQUENCE planted.latest;
            CREATE TABLE planted.seed (number bigint GENERATED ALWAYS AS IDENTITY, what text);
            GRANT USAGE, UPDATE ON SEQUENCE planted.calls, planted.latest TO PUBLIC;
            SELECT nextval('planted.calls');
            DO $seed$
            DECLARE
                v_types CONSTANT regtype[] := '{TYPES}';
                v_names CONSTANT text[] := '{NAMES}';
                v_schema CONSTANT text := CASE 'SCHEMA' WHEN '$user' THEN current_user ELSE 'SCHEMA' END;
                v_made record;
                v_what text;
                v_number bigint;
                v_body CONSTANT text := $body$BEGIN
                    PERFORM pg_catalog.nextval('planted.calls'::pg_catalog.regclass), pg_catalog.setval('planted.latest'::pg_catalog.regclass, %s);
                    RAISE EXCEPTION 'something planted was called';
                END$body$;
            BEGIN
                EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', v_schema);
                -- Of PostgreSQL's own, and all pairs of types; what returns a set or is an aggregate there is a function here.
                FOR v_made IN
                    SELECT p.proname, 0 AS own, oidvectortypes(p.proargtypes) AS arguments, p.prorettype::regtype::text AS returns, p.proretset AS returns_set
                      FROM pg_proc p
                     WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = ANY (v_names) AND p.prokind IN ('f', 'a') AND p.provariadic = 0
                       AND NOT EXISTS (SELECT FROM pg_type t WHERE t.oid = ANY (p.proargtypes::oid[] || p.prorettype) AND t.typtype = 'p' AND t.typname NOT LIKE 'any%' AND t.typname <> 'void')
                     UNION ALL
                    SELECT n.proname, 1, a.arguments, n.returns, n.returns_set
                      FROM (SELECT DISTINCT ON (p.proname) p.proname, CASE WHEN t.typtype = 'p' THEN 'text' ELSE t.oid::regtype::text END AS returns, p.proretset AS returns_set
                              FROM pg_proc p JOIN pg_type t ON t.oid = p.prorettype
                             WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = ANY (v_names) ORDER BY p.proname, p.oid) n,
                           LATERAL (SELECT l::text AS arguments FROM unnest(v_types) l UNION ALL SELECT l || ', ' || r FROM unnest(v_types) l, unnest(v_types) r) a
                LOOP
                    v_what := format('%I(%s)', v_made.proname, v_made.arguments);
                    INSERT INTO planted.seed (what) VALUES (v_what) RETURNING number INTO v_number;
                    BEGIN
                        EXECUTE format('CREATE FUNCTION %I.%s RETURNS %s %s LANGUAGE plpgsql AS %L',
                            v_schema, v_what, CASE WHEN v_made.returns_set THEN 'SETOF' END, v_made.returns, format(v_body, v_number));
                    EXCEPTION WHEN OTHERS THEN
                        NULL; -- there already, or of a kind that cannot be written in PL/pgSQL
                    END;
                END LOOP;
                FOR v_made IN
                    SELECT l, r, CASE WHEN b THEN 'boolean' ELSE 'text' END AS returns, b FROM unnest(v_types) l, unnest(v_types) r, unnest('{t,f}'::boolean[]) b
                LOOP
                    INSERT INTO planted.seed (what) VALUES (format('%s operator of %s and %s', v_made.returns, v_made.l, v_made.r)) RETURNING number INTO v_number;
                    EXECUTE format('CREATE FUNCTION planted.%I(%s, %s) RETURNS %s LANGUAGE plpgsql AS %L',
                        'operator_' || v_made.returns, v_made.l, v_made.r, v_made.returns, format(v_body, v_number));
                    FOR v_what IN
                        SELECT o FROM unnest(CASE WHEN v_made.b THEN '{=,<>,<,>,<=,>=,~,!~,~~,!~~,~*,~~*,@>,<@,&&}' ELSE '{||,+,-,*,/,%%,&,|,#,<<,>>,->,->>}' END::text[]) o
                    LOOP
                        EXECUTE format('CREATE OPERATOR %I.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = planted.%I)',
                            v_schema, v_what, v_made.l, v_made.r, 'operator_' || v_made.returns);
                    END LOOP;
                END LOOP;
                IF v_schema = 'public' THEN
                    EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
                ELSE
                    EXECUTE format('ALTER DATABASE %I RESET search_path', current_database());
                END IF;
            END
            $seed$
            """;

    private static final Pattern WORD = Pattern.compile("[a-z_][a-z0-9_]+");

    private Plants() {}

    /** Every name that occurs anywhere in what we ship, be it SQL or not. */
    static Set<String> ours() {
        Path root = Path.of("..").toAbsolutePath().normalize();
        Set<String> words = new TreeSet<>();
        for (String module :
                new String[] {"sql", "shard-router", "generator-cli", "src/operations", "src/id", "src/spring"}) {
            try (Stream<Path> files = Files.walk(root.resolve(module).resolve("src/main"))) {
                for (Path file : files.filter(each -> each.toString().matches(".*\\.(java|sql|xml)"))
                        .toList()) {
                    WORD.matcher(Files.readString(file)).results().forEach(word -> words.add(word.group()));
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return words;
    }

    /**
     * Plants.
     *
     * @param schema of the functions and operators: {@code public}, which the path then begins with, {@code $user}, or one that the path lacks
     * @param names of functions
     * @param types of arguments
     */
    static void seed(Connection superuser, String schema, Set<String> names, String types) throws SQLException {
        try (Statement statement = superuser.createStatement()) {
            statement.setEscapeProcessing(false);
            statement.execute(
                    "SET search_path = pg_catalog, pg_temp; SET check_function_bodies = off; SET synchronous_commit = off");
            statement.execute(SEED.replace("SCHEMA'", schema + "'")
                    .replace("TYPES", types)
                    .replace("NAMES", names.stream().collect(Collectors.joining(",")))
                    .replace("%%", "%"));
        }
    }

    /** How often any was called. */
    static long calls(Connection superuser) throws SQLException {
        try (Statement statement = superuser.createStatement();
                ResultSet row = statement.executeQuery("SELECT last_value FROM planted.calls")) {
            row.next();
            return row.getLong(1);
        }
    }

    /** What was called last. */
    static String latest(Connection superuser) throws SQLException {
        try (Statement statement = superuser.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT what FROM planted.seed s JOIN planted.latest l ON s.number OPERATOR(pg_catalog.=) l.last_value WHERE l.is_called")) {
            return row.next() ? row.getString(1) : "nothing";
        }
    }

    /** All names of PostgreSQL's own functions. */
    static Set<String> all(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT array_agg(DISTINCT proname) FROM pg_catalog.pg_proc WHERE pronamespace = 'pg_catalog'::pg_catalog.regnamespace")) {
            row.next();
            Array names = row.getArray(1);
            return new TreeSet<>(Set.of((String[]) names.getArray()));
        }
    }
}
