/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.sql.SQLException;

/** Instagram's function to the letter, as in "Sharding &amp; IDs at Instagram", 2012, with shard 7 in place of 5. */
public final class PublishedFunction {

    /** Makes an id. */
    public static final String CALL = "published.next_id()";

    /** The sequence that it draws from. */
    public static final String SEQUENCE = "published.table_id_seq";

    private PublishedFunction() {}

    /** Makes the function and its sequence. It takes {@code clock_timestamp} from the search path. */
    public static void create(Connection connection) throws SQLException {
        Sql.execute(connection, "CREATE SCHEMA published", "CREATE SEQUENCE published.table_id_seq", """
                CREATE FUNCTION published.next_id(OUT result bigint) AS $$
                DECLARE
                    our_epoch bigint := 1314220021721;
                    seq_id bigint;
                    now_millis bigint;
                    shard_id int := 7;
                BEGIN
                    SELECT nextval('published.table_id_seq') % 1024 INTO seq_id;
                    SELECT FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) INTO now_millis;
                    result := (now_millis - our_epoch) << 23;
                    result := result | (shard_id << 10);
                    result := result | (seq_id);
                END;
                $$ LANGUAGE plpgsql""");
    }
}
