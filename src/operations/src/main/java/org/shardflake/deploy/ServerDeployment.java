/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.IdLayout;
import org.shardflake.ShardSet;
import org.shardflake.deploy.ShardPlan.Step;
import org.shardflake.flyway.FlywayHistory;
import org.shardflake.flyway.FlywayMigration;
import org.shardflake.flyway.FlywayOrder;
import org.shardflake.jdbc.Sql;
import org.shardflake.sql.DeploymentException;
import org.shardflake.sql.FunctionLibrary;
import org.shardflake.sql.NewerVersionException;

/**
 * The deployment to one server: determines the pending changesets of its shards, and deploys them. Holds the server's deploy lock until closed.
 */
final class ServerDeployment implements AutoCloseable {

    private static final Duration LOCK_PATIENCE = Duration.ofSeconds(5);

    private final DeployTarget target;
    private final IdLayout layout;
    private final DeploySettings settings;
    private final List<FlywayMigration> migrations;
    private final Connection control;
    private final List<ShardPlan> tried = new ArrayList<>();
    private final Collection<ShardFailure> failures = new ArrayList<>();
    private final List<ShardPlan> plans = new ArrayList<>();
    private final List<Refusal> refusals = new ArrayList<>();
    private final List<Integer> gone = new ArrayList<>();
    private final Map<Integer, ShardPlan.Followed> followed = new TreeMap<>();
    private final Map<Integer, Follower.Held> held = new HashMap<>();
    private final Map<Follower, ServerDeployment> copiesOf = new HashMap<>();
    private Map<Integer, Map<String, @Nullable String>> history = Map.of();
    private int lastOrder;
    private String deployment = "";

    static final Advice EDITED = Advice.of("write a new changeset instead, or undo the edit");
    static final Advice SAME = Advice.of(
            "if it is the same changeset, name the directory in which its file had that name with %s, or set logicalFilePath in the file",
            CliCommand.SCHEMA_DEPLOY_SEARCH);

    private static final Advice WITHOUT_HISTORY = Advice.of(
            "deploy the planned changelog to it first, and then these migrations with that history: %s",
            CliCommand.SCHEMA_DEPLOY_HISTORY);

    /** The reason why a changeset cannot be deployed to a shard, and what to do. */
    record Refusal(String why, Advice advice) {}

    private ServerDeployment(
            DeployTarget target,
            IdLayout layout,
            DeploySettings settings,
            List<FlywayMigration> migrations,
            Connection control) {
        this.target = target;
        this.layout = layout;
        this.settings = settings;
        this.migrations = migrations;
        this.control = control;
    }

    /**
     * Connects, and determines the pending changesets of each shard. Changes nothing on the server.
     *
     * @param migrations Flyway's, if the changesets come from there
     * @throws DeployException if another deployment is running on this server, or it has another epoch or a newer function library
     */
    static ServerDeployment prepare(
            DeployTarget target,
            IdLayout layout,
            List<ShardChangeSet> changeSets,
            List<FlywayMigration> migrations,
            DeploySettings settings)
            throws SQLException {
        ServerDeployment deployment = new ServerDeployment(target, layout, settings, migrations, target.connect());
        try {
            SchemaLock.take(deployment.control, target.server(), LOCK_PATIENCE);
            deployment.checkLibrary();
            deployment.plan(changeSets);
            return deployment;
        } catch (SQLException | RuntimeException e) {
            deployment.close();
            throw e;
        }
    }

    private void checkLibrary() throws SQLException {
        try {
            FunctionLibrary.check(control, layout.epochMillis());
        } catch (NewerVersionException e) {
            throw new DeployRefusedException(
                    "server %s: %s".formatted(target.server(), e.getMessage()),
                    "use the newer shardflake that deployed it");
        } catch (DeploymentException e) {
            throw new DeployRefusedException("server %s: %s".formatted(target.server(), e.getMessage()));
        }
    }

    /**
     * Updates the function library and creates the history's tables: the first change, made only when nothing was refused.
     *
     * @param deployment Liquibase's name for a run, the same on all servers
     */
    void begin(List<ShardChangeSet> changeSets, String deployment) throws SQLException {
        this.deployment = deployment;
        Sql.naming(control, () -> FunctionLibrary.deploy(control, layout.epochMillis()));
        ShardHistory.create(control);
        DeployedSql.record(control, changeSets);
    }

    private void plan(List<ShardChangeSet> changeSets) throws SQLException {
        if (ShardHistory.exists(control)) {
            history = ShardHistory.read(control);
            lastOrder = ShardHistory.lastOrder(control);
        }
        Set<String> keys = changeSets.stream().map(ShardChangeSet::key).collect(Collectors.toSet());
        Set<Integer> present = new HashSet<>(ShardHistory.presentShards(control));
        target.shards().stream().forEach(shard -> {
            List<Step> steps = new ArrayList<>();
            boolean isPresent = present.contains(shard);
            if (!isPresent && history.containsKey(shard)) {
                gone.add(shard);
            }
            Map<String, @Nullable String> had = isPresent ? history.getOrDefault(shard, Map.of()) : Map.of();
            for (int i = 0; i < changeSets.size(); i++) {
                ShardChangeSet changeSet = changeSets.get(i);
                Optional<Step> step = step(changeSet, i + 1, had);
                step.ifPresent(steps::add);
                if (!had.containsKey(changeSet.key())) {
                    renamed(changeSet, had, keys)
                            .ifPresent(before -> refusals.add(new Refusal(
                                    "shard %s on server %s has had changeset %s as %s"
                                            .formatted(shard, target.server(), changeSet.key(), before),
                                    SAME)));
                } else if (step.isEmpty() && !changeSet.isFlyway() && isEdited(changeSet, had)) {
                    refusals.add(new Refusal(
                            "changeset %s was edited after shard %s on server %s had it: its checksum was %s, now it is %s"
                                    .formatted(
                                            changeSet.key(),
                                            shard,
                                            target.server(),
                                            had.get(changeSet.key()),
                                            changeSet.checksum()),
                            EDITED));
                }
            }
            settings.flyway()
                    .ifPresent(order -> problems(had, order)
                            .forEach(problem -> refusals.add(new Refusal(
                                    "shard %s on server %s: %s".formatted(shard, target.server(), problem.what()),
                                    problem.advice()))));
            plans.add(new ShardPlan(shard, !isPresent, steps));
        });
    }

    private List<FlywayHistory.Problem> problems(Map<String, @Nullable String> had, FlywayOrder order) {
        return settings.applied()
                .map(applied -> FlywayHistory.problems(had, applied, migrations, order))
                .orElseGet(() -> FlywayHistory.problems(had, migrations, order));
    }

    /** Whether a shard of the server has taken over the history of an old database. */
    boolean knowsTakenOver() {
        return history.values().stream().anyMatch(ServerDeployment::hasTakenOver);
    }

    static boolean hasTakenOver(Map<String, @Nullable String> had) {
        return had.values().stream().anyMatch(FlywayMigration::isTakenOver);
    }

    /** Refuses migrations for shards that lack a taken-over history, since migrations would create the old database's tables in them. */
    void refuseWithoutHistory() {
        for (ShardPlan plan : plans) {
            if (plan.create() || !hasTakenOver(history.getOrDefault(plan.shard(), Map.of()))) {
                refusals.add(new Refusal(
                        "shard %s on server %s lacks the history of Flyway that other shards have taken over"
                                .formatted(plan.shard(), target.server()),
                        WITHOUT_HISTORY));
            }
        }
    }

    private static Optional<Step> step(ShardChangeSet changeSet, int position, Map<String, @Nullable String> had) {
        if (!had.containsKey(changeSet.key())) {
            return changeSet.isFlyway() && FlywayHistory.isBelowBaseline(had, changeSet.id())
                    ? Optional.empty()
                    : Optional.of(new Step(changeSet, position, false));
        }
        return changeSet.runAlways() || (changeSet.runOnChange() && isEdited(changeSet, had))
                ? Optional.of(new Step(changeSet, position, true))
                : Optional.empty();
    }

    /** Leaves a shard to {@link #deployFollowed}, since it has a replicated copy. */
    void follow(int shard, List<ShardChangeSet> changeSets, Follower.Held follower, ServerDeployment copies) {
        plan(shard, changeSets, follower, copies);
        held.put(shard, follower);
    }

    /** Plans like {@link #follow}, but without what deploying would need. */
    void plan(int shard, List<ShardChangeSet> changeSets, Follower follower, ServerDeployment copies) {
        List<ShardPlan.Followed.Both> steps = new ArrayList<>();
        for (int i = 0; i < changeSets.size(); i++) {
            ShardChangeSet changeSet = changeSets.get(i);
            Optional<Step> onShard = step(changeSet, i + 1, history.getOrDefault(shard, Map.of()));
            Optional<Step> onCopy = step(changeSet, i + 1, copies.history.getOrDefault(shard, Map.of()));
            if (onShard.isPresent() || onCopy.isPresent()) {
                steps.add(new ShardPlan.Followed.Both(onShard, onCopy, FollowedSql.of(changeSet)));
            }
        }
        followed.put(shard, new ShardPlan.Followed(shard, follower, steps));
        copiesOf.put(follower, copies);
    }

    /** Whether a shard has pending changesets, here or on its copy. */
    boolean needs(int shard, List<ShardChangeSet> changeSets) {
        Map<String, @Nullable String> had = history.getOrDefault(shard, Map.of());
        return changeSets.stream().anyMatch(changeSet -> step(changeSet, 0, had).isPresent());
    }

    /** The plans of moving shards with pending changesets; interrupted ones come first, since they block replication. */
    List<ShardPlan.Followed> followed() {
        return followed.values().stream()
                .filter(plan -> !plan.isEmpty())
                .sorted(Comparator.comparing(plan -> !plan.isHalfDone()))
                .toList();
    }

    /**
     * Deploys to moving shards and their copies, one after the other. Returns the failures.
     *
     * @param first whether nothing else was tried before
     */
    Collection<ShardFailure> deployFollowed(
            List<ShardPlan.Followed> plans,
            boolean first,
            Preconditions preconditions,
            IntConsumer done,
            AtomicBoolean stop)
            throws SQLException, InterruptedException {
        Collection<ShardFailure> failed = new ArrayList<>();
        FollowedRun run = null;
        Follower.Held follower = null;
        try {
            for (ShardPlan.Followed plan : plans) {
                if (stop.get()) {
                    break;
                }
                Follower.Held its = Objects.requireNonNull(held.get(plan.shard()));
                if (run != null && (run.leftSomething() || its != follower)) {
                    run.close();
                    run = null;
                }
                if (run == null) {
                    follower = its;
                    run = followedRun(follower, first, preconditions);
                }
                long start = System.nanoTime();
                Optional<ShardFailure> failure = run.deploy(plan);
                failure.ifPresent(failed::add);
                if (failure.isEmpty()) {
                    ShardWorkers.rest(settings, start);
                }
                stop.compareAndSet(false, failure.isPresent() && settings.stopAtFailure());
                done.accept(1);
            }
        } finally {
            if (run != null) {
                run.close();
            }
        }
        failures.addAll(failed);
        return failed;
    }

    private FollowedRun followedRun(Follower.Held follower, boolean first, Preconditions preconditions)
            throws SQLException {
        ServerDeployment copies = Objects.requireNonNull(copiesOf.get(follower));
        return new FollowedRun(
                follower,
                target.server(),
                settings,
                connection -> run(
                        connection,
                        preconditions,
                        new ReentrantReadWriteLock(),
                        first,
                        Optional.of(new ShardRun.Side(follower.shardsClaim(), false))),
                connection -> copies.run(
                        connection,
                        preconditions,
                        new ReentrantReadWriteLock(),
                        first,
                        Optional.of(new ShardRun.Side(follower.copiesClaim(), true))));
    }

    /**
     * The recorded name of a changeset with the same id, author and content, if no file of the changelog has that name: deploying it again
     * would fail, or do the same thing twice.
     */
    static Optional<String> renamed(ShardChangeSet changeSet, Map<String, @Nullable String> had, Set<String> keys) {
        String end = "::" + changeSet.id() + "::" + changeSet.author();
        return had.entrySet().stream()
                .filter(before -> before.getKey().endsWith(end)
                        && changeSet.checksum().equals(before.getValue())
                        && !keys.contains(before.getKey()))
                .map(Map.Entry::getKey)
                .findFirst();
    }

    /** Whether a changeset differs from the one deployed to a server under this name. */
    static boolean isEdited(ShardChangeSet changeSet, Map<String, @Nullable String> had) {
        return changeSet.isEditedSince(had.get(changeSet.key()));
    }

    /** Changesets that were edited, or whose file was renamed, after deployment. */
    List<Refusal> refusals() {
        return refusals;
    }

    /** The shards that are not on this server and will be created. */
    ShardSet missing() {
        return ShardSet.of(
                plans.stream().filter(ShardPlan::create).map(ShardPlan::shard).toList());
    }

    /** The shards to be created that were deployed here before. */
    ShardSet gone() {
        return ShardSet.of(gone);
    }

    /** The plans of shards with pending changesets that have no replicated copy, in order. */
    List<ShardPlan> pending() {
        return plans.stream()
                .filter(plan -> !plan.isEmpty() && !followed.containsKey(plan.shard()))
                .toList();
    }

    /** The connection that holds the server's deploy lock. */
    Connection control() {
        return control;
    }

    DeployTarget target() {
        return target;
    }

    /**
     * Deploys pending changesets, several shards at a time, except those that were {@link #runFirst run first}; returns all failures.
     *
     * @param done receives the number of shards done since its last call
     * @param stop set when no further shard is to be started, by a failure here or elsewhere
     */
    Collection<ShardFailure> run(Preconditions preconditions, IntConsumer done, AtomicBoolean stop)
            throws SQLException, InterruptedException {
        List<ShardPlan> rest = new ArrayList<>(pending());
        rest.removeAll(tried);
        DeployedSql.record(
                control,
                rest.stream()
                        .flatMap(plan -> plan.steps().stream())
                        .map(Step::changeSet)
                        .filter(changeSet -> changeSet.later().isPresent())
                        .distinct()
                        .toList());
        failures.addAll(workers(preconditions, done, stop).deploy(rest));
        Sql.awaitDisk(control); // the shards' commits did not wait for the disk
        return failures;
    }

    /**
     * Deploys to one of the shards before {@link #run} deploys to the others. Returns its failure, if any.
     *
     * @param plan a pending plan
     */
    Optional<ShardFailure> runFirst(ShardPlan plan, Preconditions preconditions, IntConsumer done)
            throws InterruptedException {
        tried.add(plan);
        Collection<ShardFailure> its =
                workers(preconditions, done, new AtomicBoolean(), true).deploy(List.of(plan));
        failures.addAll(its);
        return its.stream().findFirst();
    }

    /** Whether a shard has had a changeset in exactly this form. */
    boolean hasHad(ShardChangeSet changeSet) {
        return history.values().stream().anyMatch(had -> changeSet.checksum().equals(had.get(changeSet.key())));
    }

    /**
     * Undoes changesets, the latest first.
     *
     * @param plans those of shards that have something to undo
     */
    Collection<ShardFailure> rollBack(
            List<RollBack.Plan> plans, Preconditions preconditions, IntConsumer done, AtomicBoolean stop)
            throws SQLException, InterruptedException {
        Collection<ShardFailure> failures = workers(preconditions, done, stop).each(plans, ShardRun::undo);
        Sql.awaitDisk(control); // the shards' commits did not wait for the disk
        return failures;
    }

    private ShardWorkers workers(Preconditions preconditions, IntConsumer done, AtomicBoolean stop) {
        return workers(preconditions, done, stop, false);
    }

    private ShardWorkers workers(Preconditions preconditions, IntConsumer done, AtomicBoolean stop, boolean first) {
        ReadWriteLock turns = new ReentrantReadWriteLock();
        return new ShardWorkers(
                target,
                settings,
                connection -> run(connection, preconditions, turns, first, Optional.empty()),
                done,
                stop);
    }

    private ShardRun run(
            Connection connection,
            Preconditions preconditions,
            ReadWriteLock turns,
            boolean first,
            Optional<ShardRun.Side> side) {
        return new ShardRun(
                connection, target.server(), settings, preconditions, deployment, lastOrder, turns, first, side);
    }

    /** The plans of a rollback for each shard, in order. */
    List<RollBack.Plan> plans(RollBack rollBack) {
        return target.shards().stream()
                .mapToObj(shard -> rollBack.plan(target.server(), shard))
                .toList();
    }

    /** The plan of each shard, in order. */
    List<ShardPlan> plans() {
        return plans;
    }

    /** Adds the shards' current schemas to a search for drift. */
    void addTo(DriftSearch search) throws SQLException {
        search.add(target, control);
    }

    @Override
    public void close() {
        Sql.close(control);
    }
}
