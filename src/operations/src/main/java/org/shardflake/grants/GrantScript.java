/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.grants;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.shardflake.grants.Grants.Owners;
import org.shardflake.grants.Grants.Work;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.server.SqlText;

/**
 * The SQL that gives a role what it needs in one database, to be run there by a superuser or a provider's administrator.
 *
 * @param place the name of a server, or {@code the catalog}
 * @param url without a password
 * @param version the server's major version
 */
public record GrantScript(String place, String url, int version, List<Grant> grants) {

    private static final String APPLICATION = "shardflake grants";

    /** The scripts for servers. What belongs to a role on one of them may come to the others. */
    public static List<GrantScript> forServers(Map<String, ServerUrl> servers, Work work, String role) {
        return Sql.translating(() -> {
            Map<String, Owners> owners = new LinkedHashMap<>();
            for (Map.Entry<String, ServerUrl> server : servers.entrySet()) {
                owners.put(server.getKey(), Sql.with(server.getValue().connect(APPLICATION), Owners::of));
            }
            Owners all = together(owners);
            List<GrantScript> scripts = new ArrayList<>();
            for (Map.Entry<String, ServerUrl> server : servers.entrySet()) {
                scripts.add(Sql.with(
                        server.getValue().connect(APPLICATION),
                        connection -> script(
                                server.getKey(),
                                server.getValue(),
                                connection,
                                Grants.list(connection, work, role, all))));
            }
            return scripts;
        });
    }

    /** The script for the catalog. */
    public static GrantScript forCatalog(ServerUrl catalog, Work work, String role) {
        return Sql.translating(() -> Sql.with(
                catalog.connect(APPLICATION),
                connection -> script("the catalog", catalog, connection, Grants.inCatalog(connection, work, role))));
    }

    private static GrantScript script(String place, ServerUrl url, Connection connection, List<Grant> grants)
            throws SQLException {
        return new GrantScript(place, url.toString(), connection.getMetaData().getDatabaseMajorVersion(), grants);
    }

    private static Owners together(Map<String, Owners> owners) {
        TreeSet<String> shards = new TreeSet<>();
        owners.values().forEach(each -> shards.addAll(each.shards()));
        Optional<String> library = owners.values().stream()
                .flatMap(each -> each.library().stream())
                .findFirst();
        boolean forced = owners.values().stream().anyMatch(Owners::forced);
        return new Owners(List.copyOf(shards), library, forced);
    }

    /** Requirements that no statement can grant. */
    public List<String> impossible() {
        return grants.stream()
                .filter(grant -> !grant.present() && grant.statement().isEmpty())
                .map(Grant::why)
                .toList();
    }

    /** The SQL, with an explaining comment on each statement. */
    public String sql() {
        StringBuilder sql =
                new StringBuilder(SqlText.comment("on %s, %s, PostgreSQL %s".formatted(place, url, version)));
        for (Grant grant : grants) {
            grant.statement()
                    .ifPresent(statement -> sql.append(SqlText.comment(grant.why()))
                            .append(statement)
                            .append(";\n"));
        }
        return sql.toString();
    }
}
