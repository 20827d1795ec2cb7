/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.shardflake.sql.Shards.execute;

import java.sql.Connection;
import java.sql.SQLException;

/** Operators and functions that someone puts into a schema in the hope that a deployer's search_path leads to them. */
final class Traps {

    private static final String SET = """
            DO $traps$
            DECLARE
                v_types text[] := '{integer,bigint,double precision,numeric,text,name,boolean,oid,timestamptz,interval}';
                v_left text;
                v_right text;
                v_operator text;
                v_function text;
            BEGIN
                FOREACH v_left IN ARRAY v_types LOOP
                    FOREACH v_right IN ARRAY v_types LOOP
                        EXECUTE format('CREATE FUNCTION %1$s.number(%2$s, %3$s) RETURNS bigint LANGUAGE plpgsql AS $f$ BEGIN INSERT INTO public.fell_in VALUES (current_user); RETURN 1; END $f$', SCHEMA, v_left, v_right);
                        EXECUTE format('CREATE FUNCTION %1$s.truth(%2$s, %3$s) RETURNS boolean LANGUAGE plpgsql AS $f$ BEGIN INSERT INTO public.fell_in VALUES (current_user); RETURN true; END $f$', SCHEMA, v_left, v_right);
                        FOREACH v_operator IN ARRAY '{+,-,*,/,%,&,<<,>>}'::text[] LOOP
                            EXECUTE format('CREATE OPERATOR %1$s.%4$s (LEFTARG = %2$s, RIGHTARG = %3$s, FUNCTION = %1$s.number)', SCHEMA, v_left, v_right, v_operator);
                        END LOOP;
                        EXECUTE format('CREATE OPERATOR %1$s.| (LEFTARG = %2$s, RIGHTARG = %3$s, FUNCTION = %1$s.number)', SCHEMA, v_left, v_right);
                        EXECUTE format('CREATE OPERATOR %1$s.|| (LEFTARG = %2$s, RIGHTARG = %3$s, FUNCTION = %1$s.number)', SCHEMA, v_left, v_right);
                        FOREACH v_operator IN ARRAY '{=,<>,<,>,<=,>=,~,!~}'::text[] LOOP
                            EXECUTE format('CREATE OPERATOR %1$s.%4$s (LEFTARG = %2$s, RIGHTARG = %3$s, FUNCTION = %1$s.truth)', SCHEMA, v_left, v_right, v_operator);
                        END LOOP;
                    END LOOP;
                END LOOP;
                FOREACH v_function IN ARRAY '{nextval(regclass),currval(regclass),pg_sequence_last_value(regclass),floor(double precision),floor(bigint),clock_timestamp(),length(name),to_regclass(text)}'::text[] LOOP
                    EXECUTE format('CREATE FUNCTION %s.%s RETURNS bigint LANGUAGE plpgsql AS $f$ BEGIN INSERT INTO public.fell_in VALUES (current_user); RETURN 1; END $f$', SCHEMA, v_function);
                END LOOP;
            END
            $traps$""";

    private Traps() {}

    /** Whatever of it is run notes the role that it ran as in {@code public.fell_in}. */
    static void set(Connection connection, String schema) throws SQLException {
        execute(
                connection,
                "CREATE TABLE IF NOT EXISTS public.fell_in (what text)",
                "GRANT ALL ON public.fell_in TO PUBLIC",
                SET.replace("SCHEMA", "'" + schema + "'"));
    }
}
