/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.load;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.jdbc.Sql;

/**
 * The memory of the machine, or of the container, on which a server runs.
 *
 * @param bytes as far as PostgreSQL can tell
 * @param isRead whether the server's files say so; if not, its settings do, as a person has made them for the machine: {@code
 *     effective_cache_size} as three quarters of its memory, {@code shared_buffers} as one quarter, whichever of them means more
 */
public record MachineMemory(long bytes, boolean isRead) {

    private static final String MAY_READ = """
            SELECT has_function_privilege('pg_read_file(text, bigint, bigint, boolean)', 'EXECUTE')
               AND pg_has_role('pg_read_server_files', 'USAGE')
            """;

    /** Reads the machine's memory; null if the file does not exist. */
    private static final String READ = """
            SELECT LEAST(substring(pg_read_file('/proc/meminfo', 0, 100, true) FROM 'MemTotal: *([0-9]+) kB')::bigint * 1024,
                         substring(pg_read_file('/sys/fs/cgroup/memory.max', 0, 30, true) FROM '^[0-9]+')::numeric)::bigint
            """;

    private static final String SETTINGS = """
            SELECT max(setting::bigint * 8192 * CASE name WHEN 'shared_buffers' THEN 4 ELSE 4.0 / 3 END)::bigint
              FROM pg_settings WHERE name IN ('shared_buffers', 'effective_cache_size')
            """;

    /** Reads the memory of the machine on which a server runs. */
    public static MachineMemory read(Connection connection) throws SQLException {
        if (Sql.isTrue(connection, MAY_READ)) {
            Long read = Sql.list(connection, READ, row -> row.getObject(1, Long.class))
                    .get(0);
            if (read != null) {
                return new MachineMemory(read, true);
            }
        }
        return new MachineMemory(Sql.number(connection, SETTINGS), false);
    }
}
