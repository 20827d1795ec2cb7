/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.IdLayout;
import org.shardflake.ShardSet;
import org.shardflake.deploy.DeployReport.ServerReport;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/**
 * Deploys one changelog, or Flyway's migrations, to the shards of several servers concurrently.
 *
 * <p>Closing it releases the servers' deploy locks. Not thread-safe.
 */
public final class SchemaDeployer implements AutoCloseable {

    private final ShardChangelog changelog;
    private final DeploySettings settings;
    private final List<ShardChangeSet> changeSets;
    /** All changesets; those of {@link OwnTables} come after the application's. */
    private final List<ShardChangeSet> allChangeSets;

    private final List<ServerDeployment> deployments = new ArrayList<>();
    private final IdLayout layout;

    private SchemaDeployer(ShardChangelog changelog, IdLayout layout, DeploySettings settings, Set<OwnTables> own) {
        this.changelog = changelog;
        this.layout = layout;
        this.settings = settings;
        this.changeSets = changelog.read();
        this.allChangeSets = new ArrayList<>(changeSets);
        for (OwnTables tables : own) {
            try (ShardChangelog its = ShardChangelog.of(tables)) {
                allChangeSets.addAll(its.read());
            }
        }
    }

    /**
     * Reads the changelog, connects to the servers, and determines the pending changesets of every shard. Changes nothing.
     *
     * @param changelog its file, or the directory of {@linkplain DeploySettings#withFlyway Flyway's migrations}
     * @throws DeployException if that is not possible, or a changeset was edited, or its file renamed, after a shard had it
     */
    public static SchemaDeployer prepare(
            Path changelog, List<DeployTarget> targets, IdLayout layout, DeploySettings settings)
            throws InterruptedException {
        return Sql.translating(() -> {
            Set<OwnTables> own = EnumSet.noneOf(OwnTables.class);
            for (DeployTarget target : targets) {
                own.addAll(Sql.with(target.connect(), SchemaDeployer::used));
            }
            return connected(
                    new SchemaDeployer(ShardChangelog.open(changelog, settings), layout, settings, own), targets);
        });
    }

    private static Set<OwnTables> used(Connection connection) throws SQLException {
        Set<OwnTables> used = EnumSet.noneOf(OwnTables.class);
        for (OwnTables tables : OwnTables.values()) {
            if (DeployedSql.knows(connection, tables.history())) {
                used.add(tables);
            }
        }
        return used;
    }

    /**
     * Like {@link #prepare}, for Shardflake's own tables only.
     *
     * @throws DeployRefusedException if a shard has not been created
     */
    public static SchemaDeployer prepare(
            OwnTables tables, List<DeployTarget> targets, IdLayout layout, DeploySettings settings)
            throws InterruptedException {
        return Sql.translating(() -> {
            SchemaDeployer deployer =
                    connected(new SchemaDeployer(ShardChangelog.of(tables), layout, settings, Set.of()), targets);
            for (ServerDeployment deployment : deployer.deployments) {
                if (!deployment.missing().isEmpty()) {
                    deployer.close();
                    throw new DeployRefusedException(
                            "%s not been deployed to %s yet. No shard was changed"
                                    .formatted(
                                            Plural.shards(deployment.missing(), "has", "have"),
                                            deployment.target().server()),
                            Advice.of("deploy your changelog with %s first", CliCommand.SCHEMA_DEPLOY));
                }
            }
            return deployer;
        });
    }

    private static SchemaDeployer connected(SchemaDeployer deployer, List<DeployTarget> targets)
            throws SQLException, InterruptedException {
        // Those of the other servers, too, when one refuses: they hold locks.
        Queue<ServerDeployment> opened = new ConcurrentLinkedQueue<>();
        AtomicBoolean isGivenUp = new AtomicBoolean();
        try {
            deployer.deployments.addAll(inParallel(targets.stream()
                    .<Callable<ServerDeployment>>map(target -> () -> {
                        ServerDeployment deployment = ServerDeployment.prepare(
                                target,
                                deployer.layout,
                                deployer.allChangeSets,
                                deployer.changelog.migrations(),
                                deployer.settings);
                        opened.add(deployment);
                        if (isGivenUp.get()) { // Interrupted; this server answered afterwards.
                            deployment.close();
                        }
                        return deployment;
                    })
                    .toList()));
            deployer.requireTakenOver();
            deployer.requireNoRefusal();
            return deployer;
        } catch (SQLException | InterruptedException | RuntimeException e) {
            isGivenUp.set(true);
            opened.forEach(ServerDeployment::close);
            deployer.close();
            throw e;
        }
    }

    private void requireTakenOver() {
        if (settings.flyway().isPresent()
                && settings.applied().isEmpty()
                && deployments.stream().anyMatch(ServerDeployment::knowsTakenOver)) {
            deployments.forEach(ServerDeployment::refuseWithoutHistory);
        }
    }

    private void requireNoRefusal() {
        List<ServerDeployment.Refusal> refusals = deployments.stream()
                .flatMap(deployment -> deployment.refusals().stream())
                .toList();
        if (!refusals.isEmpty()) {
            throw new DeployRefusedException(
                    refusals.get(0).why()
                            + (refusals.size() == 1
                                    ? ""
                                    : String.format(Locale.ROOT, " (and %,d more)", refusals.size() - 1)),
                    refusals.get(0).advice());
        }
    }

    /**
     * Refuses to create shards that may have rows elsewhere, or that had rows here. The servers' deploy locks are held, so no other deployment
     * or move creates them meanwhile.
     *
     * @param servers all of the shard map, by name
     * @param recreate shards whose rows are known to be lost
     * @throws DeployRefusedException if a shard is on another server, or was here before; no shard was changed
     */
    public void checkCreation(Map<String, ServerUrl> servers, ShardSet recreate) {
        NewShards shards = new NewShards(servers, recreate);
        for (ServerDeployment deployment : deployments) {
            shards.check(deployment.target().server(), deployment.missing(), deployment.gone());
        }
        // The servers that are deployed to were asked before, and had none.
        if (settings.flyway().isPresent()
                && settings.applied().isEmpty()
                && deployments.stream().anyMatch(its -> !its.missing().isEmpty())
                && shards.isHistoryTakenOver()) {
            deployments.forEach(ServerDeployment::refuseWithoutHistory);
            requireNoRefusal();
        }
    }

    /**
     * Refuses changesets whose SQL does not belong in a shard; {@link #deploy} does so, too. Changesets that all shards have had are accepted,
     * whatever they contain.
     *
     * @throws DeployRefusedException naming all changesets that cannot be done to shards, or that leave the shard's schema
     */
    public void check() {
        Set<ShardChangeSet> pending = pendingChangeSets().collect(Collectors.toSet());
        refuse(allChangeSets.stream()
                .filter(pending::contains)
                .flatMap(changeSet -> Stream.of(
                                changeSet.refusal().map(why -> new StrayUse(why, null).of(changeSet.key())),
                                check(changeSet, changeSet.sql()),
                                check(changeSet, changeSet.rollbackSql().orElse(List.of())))
                        .flatMap(Optional::stream)
                        .limit(1))
                .toList());
        checkFollowed();
    }

    private Stream<ShardChangeSet> pendingChangeSets() {
        return deployments.stream()
                .flatMap(deployment -> Stream.concat(
                        deployment.pending().stream()
                                .flatMap(plan -> plan.steps().stream())
                                .map(ShardPlan.Step::changeSet),
                        deployment.followed().stream()
                                .flatMap(plan -> plan.steps().stream())
                                .map(ShardPlan.Followed.Both::changeSet)));
    }

    /** Refuses with all reasons in one message, so that they can be fixed together. */
    private static void refuse(List<StrayUse> reasons) {
        List<String> texts = reasons.stream().map(StrayUse::what).toList();
        @Nullable Advice advice = StrayUse.advice(reasons).orElse(null);
        if (texts.size() == 1) {
            throw new DeployRefusedException(texts.get(0), advice);
        }
        if (!texts.isEmpty()) {
            throw new DeployRefusedException(
                    String.format(
                            Locale.ROOT,
                            "%,d changesets cannot be deployed to shards. No shard was changed\n- %s",
                            texts.size(),
                            String.join("\n- ", texts)),
                    advice);
        }
    }

    /**
     * The plan for undoing the last changesets of each shard, by server.
     *
     * @param everywhere all shards of the installation, by server: their histories tell which changesets are the last
     */
    private Map<ServerDeployment, List<RollBack.Plan>> rollBackPlans(int count, List<DeployTarget> everywhere) {
        if (settings.flyway().isPresent()) {
            throw new DeployRefusedException(
                    "migrations of Flyway cannot be rolled back. No shard was changed",
                    "write another migration that undoes the last");
        }
        Set<String> known = allChangeSets.stream().map(ShardChangeSet::key).collect(Collectors.toSet());
        RollBack rollBack = RollBack.read(everywhere, changeSets, known, count);
        // A rollback may have been edited since: the checksum does not cover it.
        refuse(rollBack.latest().stream()
                .flatMap(changeSet -> check(changeSet, changeSet.rollbackSql().orElse(List.of())).stream())
                .toList());
        Map<ServerDeployment, List<RollBack.Plan>> plans = new LinkedHashMap<>();
        deployments.forEach(deployment -> plans.put(deployment, deployment.plans(rollBack)));
        return plans;
    }

    private Optional<StrayUse> check(ShardChangeSet changeSet, List<String> statements) {
        for (String sql : statements) {
            Optional<StraySql.Stray> stray = StraySql.find(sql, settings.allowPublic());
            if (stray.isPresent()) {
                return Optional.of(stray.get()
                        .use()
                        .of("%s (%s)"
                                .formatted(
                                        changeSet.key(),
                                        changelog.place(
                                                changeSet, sql, stray.get().at()))));
            }
        }
        return Optional.empty();
    }

    /**
     * Takes the deployment lock of a server that has copies of moving shards, unless it is held already.
     *
     * @throws DeployException if another deployment is running there, or it has another epoch or a newer function library
     */
    public void addCopies(String server, ServerUrl url) {
        Sql.translating(() -> {
            if (deployments.stream().noneMatch(its -> its.target().server().equals(server))) {
                deployments.add(ServerDeployment.prepare(
                        new DeployTarget(server, url, ShardSet.of()),
                        layout,
                        allChangeSets,
                        changelog.migrations(),
                        settings));
            }
            return true;
        });
    }

    /** The given shards with changesets that are pending on the server or on the one with their copies. */
    public ShardSet pending(ShardSet shards, String server, Optional<String> copies) {
        return ShardSet.of(shards.stream()
                .filter(shard -> on(server).needs(shard, allChangeSets)
                        || copies.filter(its -> on(its).needs(shard, allChangeSets))
                                .isPresent())
                .toArray());
    }

    private ServerDeployment on(String server) {
        return deployments.stream()
                .filter(deployment -> deployment.target().server().equals(server))
                .findFirst()
                .orElseThrow();
    }

    /** Lets shards that are being moved be deployed together with their copies, whose server was {@link #addCopies added}. */
    public void follow(ShardSet shards, String server, Follower.Held follower) {
        shards.stream().forEach(shard -> on(server).follow(shard, allChangeSets, follower, on(follower.server())));
    }

    /** Plans like {@link #follow}, but without what {@link #deploy} would need. */
    public void plan(ShardSet shards, String server, Follower follower) {
        shards.stream().forEach(shard -> on(server).plan(shard, allChangeSets, follower, on(follower.server())));
    }

    /** The time to wait for a shard that other sessions keep from being deployed. */
    public Duration patience() {
        return settings.lockTimeout().multipliedBy(settings.tries());
    }

    /** Refuses changesets that cannot be deployed to moving shards. */
    private void checkFollowed() {
        for (ServerDeployment deployment : deployments) {
            for (ShardPlan.Followed plan : deployment.followed()) {
                for (ShardPlan.Followed.Both step : plan.steps()) {
                    step.sql().refusal().ifPresent(refusal -> {
                        throw refusedFor(plan, step.changeSet(), refusal);
                    });
                    if (step.onCopy().isEmpty() && step.sql().order() == FollowedSql.Order.SHARD_FIRST) {
                        throw refusedFor(
                                plan,
                                step.changeSet(),
                                new FollowedSql.Refusal(
                                        "was deployed to the copy on %s alone"
                                                .formatted(plan.follower().server()),
                                        "end the move, and deploy again"));
                    }
                }
            }
        }
    }

    private static DeployRefusedException refusedFor(
            ShardPlan.Followed plan, ShardChangeSet changeSet, FollowedSql.Refusal refusal) {
        return new DeployRefusedException(
                "changeset %s %s, and shard %s is being moved by move %s. No shard was changed"
                        .formatted(
                                changeSet.key(),
                                refusal.what(),
                                plan.shard(),
                                plan.follower().move()),
                Advice.of("%s: %s", refusal.instead(), CliCommand.MOVE_STATUS));
    }

    /** The messages of pending changesets, as Liquibase's {@code output} prints them. */
    public List<String> messages() {
        return pendingChangeSets()
                .distinct()
                .flatMap(changeSet -> changeSet.messages().stream())
                .toList();
    }

    /** The number of shards with pending changesets. */
    public int pendingShards() {
        return deployments.stream().mapToInt(SchemaDeployer::begun).sum();
    }

    private static int begun(ServerDeployment deployment) {
        return deployment.pending().size() + deployment.followed().size();
    }

    /** The pending changes of all shards. */
    public DeployPreview preview() {
        return DeployPreview.of(deployments);
    }

    /**
     * Updates the function library, deploys pending changesets to one shard and then to the others, and verifies the result.
     *
     * @param done receives the number of shards done since its last call; called from several threads
     * @throws DeployRefusedException as {@link #check} does
     * @throws ChangelogFailedException if a changeset cannot be deployed to any shard
     */
    public DeployReport deploy(IntConsumer done) throws InterruptedException {
        return Sql.translating(() -> {
            AtomicBoolean stop = new AtomicBoolean();
            Preconditions preconditions = new Preconditions(changelog);
            check();
            begin();
            settings.checks()
                    .record(deployments.stream().map(ServerDeployment::control).toList());
            tryFirst(preconditions, done, stop);
            List<Collection<ShardFailure>> failures = inParallel(deployments.stream()
                    .<Callable<Collection<ShardFailure>>>map(
                            deployment -> () -> deployment.run(preconditions, done, stop))
                    .toList());
            deployFollowed(preconditions, done, stop);
            return report(failures, SchemaDeployer::begun);
        });
    }

    private void begin() throws SQLException, InterruptedException {
        String now = String.valueOf(System.currentTimeMillis());
        String id = now.substring(now.length() - 10);
        inParallel(deployments.stream()
                .<Callable<Boolean>>map(deployment -> () -> {
                    deployment.begin(allChangeSets, id);
                    return true;
                })
                .toList());
    }

    /**
     * Deploys to one shard before the others, so that an error in the changelog occurs only once. The shard itself may be at fault,
     * if it was changed by hand, so after an error another shard is tried, on another server if there is one.
     */
    private void tryFirst(Preconditions preconditions, IntConsumer done, AtomicBoolean stop)
            throws InterruptedException {
        List<ServerDeployment> begun = deployments.stream()
                .filter(deployment -> !deployment.pending().isEmpty())
                .toList();
        if (begun.isEmpty()) {
            return;
        }
        ServerDeployment one = begun.get(0);
        ShardPlan first = one.pending().get(0);
        Optional<ShardFailure> failure = one.runFirst(first, preconditions, done);
        if (failure.isEmpty()) {
            return;
        }
        if (failure.get().maySpread() && !isDeployed(failure.get().changeSet())) {
            ServerDeployment other = begun.get(begun.size() - 1);
            ShardPlan last = other.pending().get(other.pending().size() - 1);
            if (first.equals(last)) {
                throw failed(failure.get(), "");
            }
            if (other.runFirst(last, preconditions, done)
                    .filter(failure.get()::isLike)
                    .isPresent()) {
                String likewise = " but shard %s of %s, which failed, too";
                throw failed(
                        failure.get(),
                        likewise.formatted(last.shard(), other.target().server()));
            }
        }
        stop.set(settings.stopAtFailure());
    }

    /** Deploys to moving shards. The first goes alone if no other shard has shown that the changelog is right. */
    private void deployFollowed(Preconditions preconditions, IntConsumer done, AtomicBoolean stop)
            throws SQLException, InterruptedException {
        boolean isFirst =
                deployments.stream().allMatch(deployment -> deployment.pending().isEmpty());
        for (ServerDeployment deployment : deployments) {
            List<ShardPlan.Followed> plans = deployment.followed();
            if (isFirst && !plans.isEmpty()) {
                isFirst = false;
                Collection<ShardFailure> failures =
                        deployment.deployFollowed(plans.subList(0, 1), true, preconditions, done, stop);
                for (ShardFailure failure : failures) {
                    if (failure.maySpread() && !isDeployed(failure.changeSet())) {
                        throw failed(failure, "");
                    }
                }
                plans = plans.subList(1, plans.size());
            }
            deployment.deployFollowed(plans, false, preconditions, done, stop);
        }
    }

    /** Whether a changeset has proved to be deployable, since some shard has had it. */
    private boolean isDeployed(String key) {
        return allChangeSets.stream()
                .filter(changeSet -> changeSet.key().equals(key))
                .anyMatch(changeSet -> deployments.stream().anyMatch(deployment -> deployment.hasHad(changeSet)));
    }

    /** Whether an error says that schema reference, or a table in it, does not exist; PostgreSQL quotes such names. */
    private static boolean isOfReferenceTables(String error) {
        return error.contains("\"reference\"") || error.contains("\"reference.");
    }

    private ChangelogFailedException failed(ShardFailure failure, String butOne) {
        int position = Math.max(0, failure.position() - 1);
        String what = allChangeSets.stream()
                .filter(changeSet -> changeSet.key().equals(failure.changeSet()))
                .findFirst()
                .map(changeSet -> "changeset %s (%s)"
                        .formatted(changeSet.key(), changelog.place(changeSet, failure.sql(), position)))
                .orElse("creation");
        String todo = isOfReferenceTables(failure.error())
                ? "deploy the reference tables first, or fix the changelog"
                : "fix the changelog";
        String hint = failure.error().contains("Hint: ") ? "" : "\nHint: " + todo + ", then run the same command again";
        String message = "%s failed on shard %s of %s: %s\nstatement: %s\nno other shard was started%s%s"
                .formatted(
                        what,
                        failure.shard(),
                        failure.server(),
                        failure.error().replaceAll("\\s*Position: \\d+", ""),
                        failure.sql().replaceAll("\\s+", " "),
                        butOne,
                        failure.changeSet().isEmpty() ? "" : hint);
        return new ChangelogFailedException(message, failure);
    }

    /**
     * Undoes the last changesets that any shard of the installation has had, the latest first, each shard in one transaction. A shard
     * that has not had all of them has less to undo, so the same call finishes what was interrupted.
     *
     * @param count how many changesets: 1 or more
     * @param everywhere all shards of the installation, by server
     * @param done receives the number of shards done since its last call; called from several threads
     * @throws DeployRefusedException if a server of them cannot be asked, or a shard has had a later changeset that the changelog lacks
     */
    public DeployReport rollBack(int count, List<DeployTarget> everywhere, IntConsumer done)
            throws InterruptedException {
        return Sql.translating(() -> {
            AtomicBoolean stop = new AtomicBoolean();
            Map<ServerDeployment, List<RollBack.Plan>> plans = new LinkedHashMap<>();
            rollBackPlans(count, everywhere)
                    .forEach((deployment, its) -> plans.put(
                            deployment,
                            its.stream().filter(plan -> !plan.steps().isEmpty()).toList()));
            begin();
            Preconditions preconditions = new Preconditions(changelog);
            List<Collection<ShardFailure>> failures = inParallel(plans.entrySet().stream()
                    .<Callable<Collection<ShardFailure>>>map(
                            entry -> () -> entry.getKey().rollBack(entry.getValue(), preconditions, done, stop))
                    .toList());
            return report(
                    failures,
                    deployment -> plans.getOrDefault(deployment, List.of()).size());
        });
    }

    /** The changes that {@link #rollBack} would make. */
    public DeployPreview previewRollBack(int count, List<DeployTarget> everywhere) {
        return DeployPreview.ofRollBack(rollBackPlans(count, everywhere));
    }

    private DeployReport report(List<Collection<ShardFailure>> failures, ToIntFunction<ServerDeployment> begun)
            throws SQLException, InterruptedException {
        List<ServerReport> servers = new ArrayList<>();
        int shardsBegun = 0;
        for (int i = 0; i < deployments.size(); i++) {
            ServerDeployment deployment = deployments.get(i);
            int shards = deployment.target().shards().size();
            int its = begun.applyAsInt(deployment);
            int failed = failures.get(i).size();
            if (shards > 0) { // or it has copies only
                servers.add(new ServerReport(deployment.target().server(), shards, its - failed, shards - its, failed));
            }
            shardsBegun += its;
        }
        List<ShardFailure> all = failures.stream().flatMap(Collection::stream).toList();
        boolean readBack = all.isEmpty() && shardsBegun > 0;
        return new DeployReport(changeSets.size(), servers, all, readBack ? verify() : List.of());
    }

    /** Compares the schemas of shards: those with the same history must be equal, and neither Liquibase's records nor ours prove that. */
    private List<ShardDrift> verify() throws SQLException, InterruptedException {
        DriftSearch search = new DriftSearch();
        List<Boolean> read = inParallel(deployments.stream()
                .<Callable<Boolean>>map(deployment -> () -> {
                    deployment.addTo(search);
                    return true;
                })
                .toList());
        return read.isEmpty() ? List.of() : search.find();
    }

    private static <T> List<T> inParallel(List<Callable<T>> tasks) throws SQLException, InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(Math.max(1, tasks.size()));
        try {
            List<T> results = new ArrayList<>();
            for (Future<T> task : threads.invokeAll(tasks)) {
                results.add(task.get());
            }
            return results;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SQLException sql) {
                throw sql;
            }
            if (e.getCause() instanceof RuntimeException unchecked) {
                throw unchecked;
            }
            throw new IllegalStateException("a deployment failed", e.getCause());
        } finally {
            threads.shutdownNow();
        }
    }

    @Override
    public void close() {
        deployments.forEach(ServerDeployment::close);
        changelog.close();
    }
}
