/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * A model of the administrator that a managed service provides instead of a superuser, according to its documentation; tests run as this role
 * if the system property {@code postgres.role} names it. It owns the test's databases and logs in with a password, which servers ask it for by
 * SCRAM.
 */
public enum ManagedRole {
    /** Amazon RDS and Aurora: {@code rds_superuser} may set {@code session_replication_role}. */
    RDS(true),

    /** Google Cloud SQL: {@code cloudsqlsuperuser} may not set {@code session_replication_role}. */
    CLOUDSQL(false);

    /** The group role whose members must give their password, according to the servers' {@code pg_hba.conf}. */
    public static final String BY_PASSWORD = EmbeddedServer.BY_PASSWORD;

    private static final String PASSWORD = "a secret, that nobody may see";

    private final boolean setsReplicationRole;

    ManagedRole(boolean setsReplicationRole) {
        this.setsReplicationRole = setsReplicationRole;
    }

    /** The name that the role logs in with. */
    public String user() {
        return name().toLowerCase(Locale.ROOT) + "_model";
    }

    /** The role's password, the same on all servers. */
    public String password() {
        return PASSWORD;
    }

    static ManagedRole parse(String name) {
        return Arrays.stream(values())
                .filter(role -> role.name().equals(name.toUpperCase(Locale.ROOT)))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("unknown postgres.role \"" + name + "\", allowed: "
                        + Arrays.stream(values())
                                .map(role -> role.name().toLowerCase(Locale.ROOT))
                                .collect(Collectors.joining(", "))));
    }

    /** Makes the role the owner of a database, and creates the role on the server if needed. */
    public void own(PostgresServer server, String database) throws SQLException {
        create(server);
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            statement.execute("ALTER DATABASE \"%s\" OWNER TO %s".formatted(database, user()));
        }
    }

    /** Creates the role on a server if needed. */
    public void create(PostgresServer server) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(createByPassword());
            statement.execute("DO $$ BEGIN IF to_regrole('%1$s') IS NULL THEN %2$s; END IF; END $$"
                    .formatted(user(), String.join("; ", statements(server.majorVersion()))));
        }
    }

    /** The SQL that creates the group of roles that must give their password. */
    public static String createByPassword() {
        return "DO $$ BEGIN IF to_regrole('%1$s') IS NULL THEN CREATE ROLE %1$s; END IF; END $$".formatted(BY_PASSWORD);
    }

    private List<String> statements(int version) {
        String role = user();
        // RDS grants rds_replication, which PostgreSQL itself does not have, instead of the attribute.
        return List.of(
                "CREATE ROLE %s LOGIN NOSUPERUSER CREATEDB CREATEROLE REPLICATION PASSWORD '%s'"
                        .formatted(role, PASSWORD),
                "GRANT %s TO %s".formatted(BY_PASSWORD, role),
                "GRANT pg_monitor, pg_signal_backend%s TO %s"
                        .formatted(version >= 16 ? ", pg_create_subscription" : "", role),
                setsReplicationRole ? "GRANT SET ON PARAMETER session_replication_role TO " + role : "NULL");
    }
}
