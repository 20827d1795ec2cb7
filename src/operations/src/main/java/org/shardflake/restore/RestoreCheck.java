/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.restore;

import static org.shardflake.doctor.Severity.PROBLEM;
import static org.shardflake.doctor.Severity.WARNING;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.doctor.Doctor;
import org.shardflake.doctor.Finding;
import org.shardflake.doctor.Severity;
import org.shardflake.install.Installation;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.server.MoveServer;
import org.shardflake.restore.RestorePoint.Place;
import org.shardflake.server.ServerUrl;

/** Compares restored servers with a restore point. */
final class RestoreCheck {

    private static final String APPLICATION = "shardflake restore-point";

    private static final String MAY_READ = "SELECT has_function_privilege('pg_read_file(text)', 'execute')";

    private final ServerUrl catalog;
    private final Function<Server, ServerUrl> urls;
    private final RestorePoint point;
    private final List<Finding> findings = new ArrayList<>();

    RestoreCheck(ServerUrl catalog, Function<Server, ServerUrl> urls, RestorePoint point) {
        this.catalog = catalog;
        this.urls = urls;
        this.point = point;
    }

    List<Finding> run() throws SQLException, InterruptedException {
        ShardMap map = ShardCatalog.at(catalog.toRead(() -> {})).load();
        for (Place place : point.places()) {
            Optional<ServerUrl> url = place.isCatalog()
                    ? Optional.of(catalog)
                    : map.servers().stream()
                            .filter(server -> server.name().equals(place.server()))
                            .map(urls)
                            .findFirst();
            if (url.isPresent()) {
                examine(place, url.get());
            } else {
                problem(place, "server-gone", "is not in the shard map", "restore the catalog to this point, too");
            }
        }
        comparePlacements();
        if (findings.stream().noneMatch(finding -> finding.severity() == PROBLEM)) {
            findings.addAll(doctor(map).examineOwnership());
        }
        return findings;
    }

    private void comparePlacements() throws SQLException {
        Connection connection = catalog.toRead(() -> {}).connect(APPLICATION);
        String placements = Sql.with(connection, opened -> Sql.text(opened, PointCatalog.PLACEMENTS));
        if (!placements.equals(point.placements())) {
            findings.add(
                    Finding.of(
                            PROBLEM,
                            RestorePoint.CATALOG,
                            "shard-map",
                            "places shards otherwise than at the point",
                            "restore the catalog to this point, too; if it was, the map has been changed since, and this check comes too late"));
        }
    }

    private Doctor doctor(ShardMap map) {
        Function<String, MoveServer> servers = name -> new MoveServer(name, urls.apply(map.server(name)));
        Mover mover = new Mover(catalog, servers, MoveSettings.DEFAULT, MoveListener.NONE);
        return new Doctor(catalog, new Installation(catalog, urls).urls(map), mover);
    }

    private void examine(Place place, ServerUrl url) {
        try {
            Sql.with(url.toRead(() -> {}).connect(APPLICATION), connection -> {
                examine(place, connection);
                return true;
            });
        } catch (SQLException e) {
            problem(
                    place,
                    "server-readable",
                    "cannot be examined: " + Sql.message(e),
                    Advice.of("check that it runs; if it was restored to another address: %s", nameAddress(place)));
        }
    }

    private void examine(Place place, Connection connection) throws SQLException {
        String identity = RestorePointRun.identity(connection);
        if (!identity.isEmpty() && !place.identity().isEmpty() && !identity.equals(place.identity())) {
            problem(
                    place,
                    "other-cluster",
                    "is a different database cluster than at the point",
                    Advice.of("name the restored server: %s", nameAddress(place)));
            return;
        }
        if (Sql.isTrue(connection, "SELECT pg_is_in_recovery()")) {
            problem(
                    place,
                    "in-recovery",
                    "is still in recovery",
                    "when it has reached the point: SELECT pg_promote(), or recovery_target_action = 'promote' from the beginning");
            return;
        }
        long timeline = Timeline.ofWalFile(Sql.text(connection, "SELECT pg_walfile_name(pg_current_wal_lsn())"));
        if (timeline <= place.timeline()) {
            problem(
                    place,
                    "not-restored",
                    "is on timeline %s, and the point on %s".formatted(timeline, place.timeline()),
                    "no restore ends on the timeline it began on: restore this server; if it is the one that was replaced, give the map the URL of the restored one");
            return;
        }
        compareEnd(place, connection, timeline);
    }

    private static Object nameAddress(Place place) {
        return place.isCatalog() ? "give the URL of the catalog" : CliCommand.SERVER_CHANGE.with(place.server());
    }

    private void compareEnd(Place place, Connection connection, long timeline) throws SQLException {
        if (!Sql.isTrue(connection, MAY_READ)) {
            warning(
                    place,
                    "restored-to",
                    "was restored; to which moment, this role cannot see",
                    "as a superuser: GRANT EXECUTE ON FUNCTION pg_read_file(text) TO %s, or read %s there"
                            .formatted(
                                    Sql.text(connection, "SELECT quote_ident(current_user)"),
                                    Timeline.historyFile(timeline)));
            return;
        }
        Optional<Timeline.End> end =
                history(connection, timeline).flatMap(text -> Timeline.end(text, place.timeline()));
        if (end.isEmpty()) {
            warning(
                    place,
                    "restored-to",
                    "has no history of timeline %s".formatted(timeline),
                    "to which moment it was restored is in its log: recovery stopping at restore point");
            return;
        }
        String named = "at restore point \"%s\"".formatted(point.name());
        int after = Long.compareUnsigned(Timeline.position(end.get().lsn()), Timeline.position(place.lsn()));
        if (!end.get().reason().equals(named) && after != 0) {
            problem(
                    place,
                    "restored-to",
                    "was restored to %s, %s the point at %s"
                            .formatted(end.get().lsn(), after < 0 ? "before" : "after", place.lsn()),
                    "restore it again, with recovery_target_name = '%s'".formatted(point.name()));
        }
    }

    private static Optional<String> history(Connection connection, long timeline) throws SQLException {
        try {
            return Optional.of(Sql.text(connection, "SELECT pg_read_file(?)", Timeline.historyFile(timeline)));
        } catch (SQLException e) {
            if ("58P01".equals(e.getSQLState())) { // no such file
                return Optional.empty();
            }
            throw e;
        }
    }

    private void problem(Place place, String check, String found, CharSequence remedy) {
        add(PROBLEM, place, check, found, remedy);
    }

    private void warning(Place place, String check, String found, CharSequence remedy) {
        add(WARNING, place, check, found, remedy);
    }

    private void add(Severity severity, Place place, String check, String found, CharSequence remedy) {
        findings.add(Finding.of(severity, place.server(), check, found, remedy));
    }
}
