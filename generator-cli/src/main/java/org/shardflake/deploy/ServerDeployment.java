/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.IdLayout;
import org.shardflake.deploy.ShardPlan.Step;
import org.shardflake.jdbc.Sql;
import org.shardflake.sql.FunctionLibrary;

/** The deployment of one server: what its shards need, and the doing of it. Holds the server's deploy lock until closed. */
final class ServerDeployment implements AutoCloseable {

    private static final Duration LOCK_PATIENCE = Duration.ofSeconds(5);

    private final DeployTarget target;
    private final DeploySettings settings;
    private final Connection control;
    private final List<ShardPlan> plans = new ArrayList<>();
    private final List<String> edited = new ArrayList<>();
    private Map<Integer, Map<String, @Nullable String>> history = Map.of();
    private int lastOrder;

    private ServerDeployment(DeployTarget target, DeploySettings settings, Connection control) {
        this.target = target;
        this.settings = settings;
        this.control = control;
    }

    /**
     * Connects, brings the function library and the history table up to date, and finds out what each shard needs.
     *
     * @throws DeployException if another deployment works on this server
     */
    static ServerDeployment prepare(
            DeployTarget target, IdLayout layout, List<ShardChangeSet> changeSets, DeploySettings settings)
            throws SQLException {
        ServerDeployment deployment = new ServerDeployment(target, settings, target.connect());
        try {
            SchemaLock.take(deployment.control, target.server(), LOCK_PATIENCE);
            FunctionLibrary.deploy(deployment.control, layout.epochMillis());
            ShardHistory.create(deployment.control);
            DeployedSql.record(deployment.control, changeSets);
            deployment.plan(changeSets);
            return deployment;
        } catch (SQLException | RuntimeException e) {
            deployment.close();
            throw e;
        }
    }

    private void plan(List<ShardChangeSet> changeSets) throws SQLException {
        history = ShardHistory.read(control);
        lastOrder = ShardHistory.lastOrder(control);
        Set<Integer> present = presentShards();
        target.shards().stream().forEach(shard -> {
            List<Step> steps = new ArrayList<>();
            Map<String, @Nullable String> had = history.getOrDefault(shard, Map.of());
            for (int i = 0; i < changeSets.size(); i++) {
                ShardChangeSet changeSet = changeSets.get(i);
                if (!had.containsKey(changeSet.key())) {
                    steps.add(new Step(changeSet, i + 1, false));
                } else if (changeSet.runAlways() || (changeSet.runOnChange() && isEdited(changeSet, had))) {
                    steps.add(new Step(changeSet, i + 1, true));
                } else if (isEdited(changeSet, had)) {
                    edited.add(
                            "changeset %s was edited after shard %d on server %s had it: its checksum was %s, now it is %s"
                                    .formatted(
                                            changeSet.key(),
                                            shard,
                                            target.server(),
                                            had.get(changeSet.key()),
                                            changeSet.checksum()));
                }
            }
            plans.add(new ShardPlan(shard, !present.contains(shard), steps));
        });
    }

    private static boolean isEdited(ShardChangeSet changeSet, Map<String, @Nullable String> had) {
        String before = had.get(changeSet.key());
        // Checksums of another version of Liquibase's formula, the part before the colon, cannot be compared.
        int version = changeSet.checksum().indexOf(':') + 1;
        return before != null
                && before.startsWith(changeSet.checksum().substring(0, version))
                && !before.equals(changeSet.checksum());
    }

    private Set<Integer> presentShards() throws SQLException {
        Set<Integer> present = new HashSet<>();
        try (Statement statement = control.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT right(nspname, 4)::integer FROM pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$'")) {
            while (row.next()) {
                present.add(row.getInt(1));
            }
        }
        return present;
    }

    /** Changesets that were edited after they had been deployed, as messages. */
    List<String> edited() {
        return edited;
    }

    /** What shards need, in order; those that need nothing left out. */
    List<ShardPlan> pending() {
        return plans.stream().filter(plan -> !plan.isEmpty()).toList();
    }

    DeployTarget target() {
        return target;
    }

    /**
     * Deploys what is pending, some shards at a time.
     *
     * @param done told how many shards were done since it was last told
     * @param stop set when the rest is not to be begun, by a failure here or elsewhere
     */
    Collection<ShardFailure> run(Preconditions preconditions, IntConsumer done, AtomicBoolean stop)
            throws SQLException, InterruptedException {
        Collection<ShardFailure> failures = workers(preconditions, done, stop).deploy(pending());
        Sql.awaitDisk(control); // the shards' commits did not wait for it
        return failures;
    }

    /**
     * Undoes the last changesets that each shard has had, the latest first.
     *
     * @param changeSets those of the changelog, in order
     */
    Collection<ShardFailure> rollBack(
            List<ShardChangeSet> changeSets,
            int count,
            Preconditions preconditions,
            IntConsumer done,
            AtomicBoolean stop)
            throws SQLException, InterruptedException {
        Collection<ShardFailure> failures = workers(preconditions, done, stop)
                .each(shardsWithHistory(), (run, shard) -> run.undo(shard, latest(changeSets, count, shard)));
        Sql.awaitDisk(control); // the shards' commits did not wait for it
        return failures;
    }

    private ShardWorkers workers(Preconditions preconditions, IntConsumer done, AtomicBoolean stop) {
        String now = String.valueOf(System.currentTimeMillis());
        String deployment = now.substring(now.length() - 10);
        return new ShardWorkers(
                target,
                settings,
                connection -> new ShardRun(connection, target.server(), settings, preconditions, deployment, lastOrder),
                done,
                stop);
    }

    /** The shards that have had a changeset. */
    List<Integer> shardsWithHistory() {
        return target.shards().stream()
                .filter(shard -> history.containsKey(shard))
                .boxed()
                .toList();
    }

    /** The last changesets that a shard has had, the latest first. */
    List<ShardChangeSet> latest(List<ShardChangeSet> changeSets, int count, int shard) {
        List<ShardChangeSet> had = new ArrayList<>(changeSets);
        had.removeIf(changeSet -> !history.getOrDefault(shard, Map.of()).containsKey(changeSet.key()));
        Collections.reverse(had);
        return had.subList(0, Math.min(count, had.size()));
    }

    /** What a shard's schema is now, by shard, without its name. */
    Map<Integer, String> fingerprints() throws SQLException {
        return ShardDescription.fingerprints(control, target.shards());
    }

    @Override
    public void close() throws SQLException {
        control.close();
    }
}
