/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;
import java.util.function.ToIntFunction;
import org.shardflake.IdLayout;
import org.shardflake.deploy.DeployReport.ServerReport;

/**
 * Deploys one Liquibase changelog to the shards of several servers, all servers at once.
 *
 * <p>Close it to give the servers' deploy locks back. Not thread-safe.
 */
public final class SchemaDeployer implements AutoCloseable {

    private final ShardChangelog changelog;
    private final List<ShardChangeSet> changeSets;
    private final List<ServerDeployment> deployments = new ArrayList<>();

    private SchemaDeployer(ShardChangelog changelog) {
        this.changelog = changelog;
        this.changeSets = changelog.read();
    }

    /**
     * Reads the changelog, connects to the servers, brings the function library there up to date, and finds out what every
     * shard needs.
     *
     * @throws DeployException if that is not possible, or a changeset was edited after a shard had it; no shard was changed
     */
    public static SchemaDeployer prepare(
            Path changelog, List<DeployTarget> targets, IdLayout layout, DeploySettings settings)
            throws SQLException, InterruptedException {
        SchemaDeployer deployer = new SchemaDeployer(ShardChangelog.open(changelog, settings));
        try {
            deployer.deployments.addAll(inParallel(targets.stream()
                    .<Callable<ServerDeployment>>map(
                            target -> () -> ServerDeployment.prepare(target, layout, deployer.changeSets, settings))
                    .toList()));
            deployer.checkUnedited();
            return deployer;
        } catch (SQLException | InterruptedException | RuntimeException e) {
            deployer.close();
            throw e;
        }
    }

    private void checkUnedited() {
        List<String> edited = deployments.stream()
                .flatMap(deployment -> deployment.edited().stream())
                .toList();
        if (!edited.isEmpty()) {
            throw new DeployRefusedException("%s%s. Write a new changeset instead, or undo the edit"
                    .formatted(
                            edited.get(0), edited.size() == 1 ? "" : " (and %,d more)".formatted(edited.size() - 1)));
        }
    }

    /** How many shards need something. */
    public int pendingShards() {
        return deployments.stream()
                .mapToInt(deployment -> deployment.pending().size())
                .sum();
    }

    /** What would be done, by server, with the SQL of the first shard that needs something. */
    public DeployPreview preview() {
        return DeployPreview.of(deployments);
    }

    /**
     * Deploys what is needed, and reads the result back.
     *
     * @param done told how many shards were done since it was last told; from several threads
     */
    public DeployReport deploy(IntConsumer done) throws SQLException, InterruptedException {
        AtomicBoolean stop = new AtomicBoolean();
        Preconditions preconditions = new Preconditions(changelog);
        List<Collection<ShardFailure>> failures = inParallel(deployments.stream()
                .<Callable<Collection<ShardFailure>>>map(deployment -> () -> deployment.run(preconditions, done, stop))
                .toList());
        return report(failures, deployment -> deployment.pending().size());
    }

    /**
     * Undoes the last changesets that every shard has had, the latest first, each shard in one transaction.
     *
     * @param count how many changesets: 1 or more
     * @param done told how many shards were done since it was last told; from several threads
     */
    public DeployReport rollBack(int count, IntConsumer done) throws SQLException, InterruptedException {
        AtomicBoolean stop = new AtomicBoolean();
        Preconditions preconditions = new Preconditions(changelog);
        List<Collection<ShardFailure>> failures = inParallel(deployments.stream()
                .<Callable<Collection<ShardFailure>>>map(
                        deployment -> () -> deployment.rollBack(changeSets, count, preconditions, done, stop))
                .toList());
        return report(failures, deployment -> deployment.target().shards().size());
    }

    /** What {@link #rollBack} would do, by server, with the SQL of the first shard that has something to undo. */
    public DeployPreview previewRollBack(int count) {
        return DeployPreview.ofRollBack(deployments, changeSets, count);
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
            servers.add(new ServerReport(deployment.target().server(), shards, its - failed, shards - its, failed));
            shardsBegun += its;
        }
        List<ShardFailure> all = failures.stream().flatMap(Collection::stream).toList();
        boolean readBack = all.isEmpty() && shardsBegun > 0;
        return new DeployReport(changeSets.size(), servers, all, readBack ? verify() : List.of());
    }

    /** Liquibase's word, and ours, is not proof: shards with one history must have one schema. */
    private List<ShardDrift> verify() throws SQLException, InterruptedException {
        DriftSearch search = new DriftSearch();
        List<Boolean> read = inParallel(deployments.stream()
                .<Callable<Boolean>>map(deployment -> () -> {
                    var fingerprints = deployment.fingerprints();
                    synchronized (search) {
                        search.add(deployment.target(), fingerprints);
                    }
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
    public void close() throws SQLException {
        for (ServerDeployment deployment : deployments) {
            deployment.close();
        }
        changelog.close();
    }
}
