/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.restore;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.doctor.Finding;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/**
 * The restore points of one installation: creates them, and compares restored servers with them. Thread-safe; holds no connection between
 * calls.
 *
 * <p>A transaction that was committed before {@link #make} was called is before the point, on whichever server it was. One that is
 * committed meanwhile is before or after it. Each shard is whole, since none of them changes its server meanwhile.
 */
public final class RestorePoints {

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,62}");

    private final ServerUrl catalog;
    private final Function<Server, ServerUrl> urls;

    /**
     * @param catalog the database that has the catalog
     * @param urls the URL of a server of the shard map, including what is needed to log in
     */
    public RestorePoints(ServerUrl catalog, Function<Server, ServerUrl> urls) {
        this.catalog = catalog;
        this.urls = urls;
    }

    /**
     * Creates a restore point on every server and in the catalog.
     *
     * @param name 1 to 63 letters, digits, dots, hyphens and underscores; it must be new, since recovery stops at the first of a name
     * @param patience how long to wait for a moment without a cutover, the end of a move or another change of the shard map
     * @param warnings told of what makes the point worth less, such as a server without an archive
     * @throws ShardflakeException if there is none, or if a server refuses; says which servers have the point then
     */
    public RestorePoint make(String name, Duration patience, Consumer<String> warnings) {
        if (!NAME.matcher(name).matches()) {
            throw new ShardflakeException(
                    Kind.USAGE,
                    "'%s' is not a name for a restore point; it takes 1 to 63 letters, digits, dots, hyphens and underscores, and begins with a letter or digit"
                            .formatted(name),
                    null,
                    null);
        }
        return Sql.translating(() -> {
            try (RestorePointRun making = RestorePointRun.connect(catalog, urls)) {
                making.make(name, patience, warnings);
            }
            return find(name);
        });
    }

    /** All restore points, newest first. */
    public List<RestorePoint> list() {
        return Sql.translating(() -> with(PointCatalog::list));
    }

    /** The newest restore point that every server and the catalog have; empty also if the role may not read restore points. */
    public Optional<RestorePoint> newest() {
        return Sql.translating(() -> with(PointCatalog::newest));
    }

    /**
     * Compares servers that were restored to a restore point with it, and changes nothing.
     *
     * @return what differs; warnings tell what could not be seen
     */
    public List<Finding> check(String name) throws InterruptedException {
        RestorePoint point = find(name);
        if (!point.isComplete()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "restore point %s is incomplete: not every server has it".formatted(name),
                    Advice.of("choose another: %s", CliCommand.RESTORE_POINT_LIST),
                    null);
        }
        return Sql.translating(() -> new RestoreCheck(catalog, urls, point).run());
    }

    private RestorePoint find(String name) {
        Optional<RestorePoint> found = Sql.translating(() -> with(connection -> PointCatalog.find(connection, name)));
        return found.orElseThrow(() -> new ShardflakeException(
                Kind.PRECONDITION,
                "the catalog has no restore point %s".formatted(name),
                Advice.of(
                        "see %s; a catalog that was restored to before the point does not have it",
                        CliCommand.RESTORE_POINT_LIST),
                null));
    }

    private <T> T with(Sql.Query<T> query) throws SQLException {
        Connection connection = catalog.connect("shardflake restore-point");
        return Sql.with(connection, query);
    }
}
