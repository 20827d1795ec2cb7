/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.shardflake.flyway.AppliedMigrations;
import org.shardflake.flyway.FlywayOrder;

/**
 * Settings for deploying a changelog.
 *
 * @param searchPath the directory to search for the changelog and its includes
 * @param contexts Liquibase's contexts, separated by commas; empty selects all changesets
 * @param labels Liquibase's label expression; empty selects all changesets
 * @param parameters changelog parameters; {@code shard.schema} is always defined
 * @param lockTimeout how long a statement waits for a lock before its shard is retried later
 * @param statementTimeout how long a statement may run
 * @param tries how often to try a shard that other sessions keep locked: 1 or more
 * @param connections how many existing shards of a server to change at a time: 1 or more
 * @param rest how long a connection pauses after a shard that existed before, in multiples of the time that the shard took: 0 or more
 * @param stopAtFailure whether the first shard that fails ends the deployment
 * @param allowPublic whether changesets may name schema {@code public}
 * @param checks which checks keep rows of other shards out of new tables
 * @param flyway which order of migrations to accept if the changelog is a directory of Flyway's; none if it is Liquibase's
 * @param applied what shards take over from the old database that their tables were planned after; none if they have had what their history says
 */
public record DeploySettings(
        Path searchPath,
        String contexts,
        String labels,
        Map<String, String> parameters,
        Duration lockTimeout,
        Duration statementTimeout,
        int tries,
        int connections,
        double rest,
        boolean stopAtFailure,
        boolean allowPublic,
        RowChecks checks,
        Optional<FlywayOrder> flyway,
        Optional<AppliedMigrations> applied) {

    private static final int MOST_REST = 100;

    /** Settings for a Liquibase changelog. */
    public DeploySettings(
            Path searchPath,
            String contexts,
            String labels,
            Map<String, String> parameters,
            Duration lockTimeout,
            Duration statementTimeout,
            int tries,
            int connections,
            double rest,
            boolean stopAtFailure,
            boolean allowPublic,
            RowChecks checks) {
        this(
                searchPath,
                contexts,
                labels,
                parameters,
                lockTimeout,
                statementTimeout,
                tries,
                connections,
                rest,
                stopAtFailure,
                allowPublic,
                checks,
                Optional.empty(),
                Optional.empty());
    }

    /**
     * The default settings: lock timeout 1 s, statement timeout 5 minutes, 10 tries, 2 connections that rest half of the time; continues after
     * a failure, and refuses {@code public}.
     */
    public static DeploySettings defaults(Path searchPath) {
        return new DeploySettings(
                searchPath,
                "",
                "",
                Map.of(),
                Duration.ofSeconds(1),
                Duration.ofMinutes(5),
                10,
                2,
                1,
                false,
                false,
                RowChecks.RECORDED);
    }

    public DeploySettings {
        if (tries < 1 || connections < 1) {
            throw new IllegalArgumentException(
                    "tries are %s and connections %s, allowed: 1 or more".formatted(tries, connections));
        }
        if (!(rest >= 0 && rest <= MOST_REST)) {
            throw new IllegalArgumentException("rest is %s, allowed: 0 to %s".formatted(rest, MOST_REST));
        }
    }

    /** A copy of these settings that allows or refuses changesets naming schema {@code public}. */
    public DeploySettings withPublic(boolean allowed) {
        return with(allowed, checks, flyway, applied);
    }

    /** A copy of these settings with other checks of rows, for example {@code new RowChecks(true, "uid", 2000)}. */
    public DeploySettings withChecks(RowChecks wanted) {
        return with(allowPublic, wanted, flyway, applied);
    }

    /**
     * A copy of these settings for a directory of Flyway's SQL migrations, given instead of a changelog file. Its parameters are the values of
     * placeholders; search path, contexts and labels are not used.
     */
    public DeploySettings withFlyway(FlywayOrder order) {
        return with(allowPublic, checks, Optional.of(order), applied);
    }

    /**
     * A copy of these settings for taking over the history of the database that the shards' tables were planned after: its migrations are
     * recorded in the shards without running. Only for a directory of Flyway's.
     */
    public DeploySettings withApplied(AppliedMigrations history) {
        return with(allowPublic, checks, flyway, Optional.of(history));
    }

    private DeploySettings with(
            boolean isPublicAllowed,
            RowChecks wanted,
            Optional<FlywayOrder> order,
            Optional<AppliedMigrations> history) {
        return new DeploySettings(
                searchPath,
                contexts,
                labels,
                parameters,
                lockTimeout,
                statementTimeout,
                tries,
                connections,
                rest,
                stopAtFailure,
                isPublicAllowed,
                wanted,
                order,
                history);
    }
}
