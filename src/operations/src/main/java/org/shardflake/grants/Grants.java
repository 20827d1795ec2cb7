/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.grants;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import org.shardflake.jdbc.Sql;

/** The privileges that a role needs on a server for its work. The scripts that grant it and the checks before the work are both made of this. */
public final class Grants {

    private static final String LIST = read("grants.sql");

    private static final String SHARD_OWNERS = """
            SELECT DISTINCT pg_get_userbyid(o.oid)
              FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid, unnest(ARRAY[n.nspowner, c.relowner]) AS o (oid)
             WHERE n.nspname ~ '^shard_[0-9]{4}$' AND o.oid IS NOT NULL
            """;

    private static final String LIBRARY_OWNER =
            "SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'shardflake'";

    private static final String FORCES = """
            SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                            WHERE n.nspname ~ '^shard_[0-9]{4}$' AND c.relrowsecurity AND c.relforcerowsecurity)
            """;

    /**
     * A quick check whether the role lacks nothing: planning the whole list takes several times as long. A superuser may lack rights of the
     * role that is to own the library, no others.
     */
    private static final String LACKS_NOTHING = """
            SELECT rolsuper AND (? OR to_regnamespace('shardflake') IS NOT NULL) FROM pg_roles WHERE rolname = current_user
            """;

    private Grants() {}

    /** The kinds of work that a role is for. */
    public enum Work {
        MOVES,
        DEPLOY,
        APPLICATION,
        ADOPT,
        DOCTOR
    }

    /**
     * The owners of a server's shards and of its function library, if it has one.
     *
     * @param forced whether row-level security hides rows of a shard from its own owner, too
     */
    public record Owners(List<String> shards, Optional<String> library, boolean forced) {

        /** The owners when there are no servers. */
        public static final Owners NONE = new Owners(List.of(), Optional.empty(), false);

        /** The owners in the connection's database. */
        public static Owners of(Connection connection) throws SQLException {
            return new Owners(
                    Sql.list(connection, SHARD_OWNERS, row -> row.getString(1)),
                    Sql.list(connection, LIBRARY_OWNER, row -> row.getString(1)).stream()
                            .findFirst(),
                    Sql.isTrue(connection, FORCES));
        }
    }

    /**
     * The privileges that the connection's own role lacks.
     *
     * @param elsewhere who owns what the role is to bring here
     */
    public static List<Grant> missing(Connection connection, Work work, Owners elsewhere) throws SQLException {
        if (Sql.isTrue(connection, LACKS_NOTHING, elsewhere.library().isEmpty())) {
            return List.of();
        }
        return list(connection, work, Sql.text(connection, "SELECT current_user"), elsewhere).stream()
                .filter(grant -> !grant.present())
                .toList();
    }

    /**
     * The privileges that a role lacks in the connection's database.
     *
     * @param role which may not exist yet
     * @param elsewhere who owns what the role is to bring here
     */
    public static List<Grant> list(Connection connection, Work work, String role, Owners elsewhere)
            throws SQLException {
        return list(connection, work.name().toLowerCase(Locale.ROOT), role, elsewhere);
    }

    /** The privileges that a role needs in the catalog, in addition to those on the servers. */
    public static List<Grant> inCatalog(Connection connection, Work work, String role) throws SQLException {
        return list(connection, "catalog of " + work.name().toLowerCase(Locale.ROOT), role, Owners.NONE);
    }

    private static List<Grant> list(Connection connection, String work, String role, Owners elsewhere)
            throws SQLException {
        return Sql.list(
                connection,
                LIST,
                row -> new Grant(row.getString(1), row.getBoolean(2), Optional.ofNullable(row.getString(3))),
                role,
                connection.createArrayOf("text", elsewhere.shards().toArray()),
                elsewhere.library().orElse(null),
                elsewhere.forced(),
                work,
                work);
    }

    private static String read(String file) {
        try (InputStream text = Objects.requireNonNull(Grants.class.getResourceAsStream(file), file)) {
            return new String(text.readAllBytes(), UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
