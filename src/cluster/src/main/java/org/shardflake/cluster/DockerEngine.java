/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.async.ResultCallback;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.model.PullResponseItem;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.dockerclient.DockerClientProviderStrategy;

/** Finds out whether there is a Docker engine to use, without waiting for long. */
final class DockerEngine {
    private static final Duration TIMEOUT = Duration.ofSeconds(8);

    private DockerEngine() {}

    /**
     * Returns what keeps containers of the image from starting, or null if nothing does. The image is pulled if that
     * is quick.
     *
     * <p>Testcontainers is asked in a thread that may be left behind: where no registry answers, it goes on trying to
     * pull its own image for minutes.
     */
    static @Nullable String problem(String image) {
        FutureTask<Void> attempt = new FutureTask<>(() -> attempt(image), null);
        Thread thread = new Thread(attempt, "docker-engine-check");
        thread.setDaemon(true);
        thread.start();
        try {
            attempt.get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
            return null;
        } catch (ExecutionException e) {
            // Any Throwable: besides its own exceptions, Testcontainers lets through errors of class initialisation.
            return "no Docker engine can be used: " + reason(e.getCause() == null ? e : e.getCause());
        } catch (TimeoutException e) {
            return "the Docker engine was not ready to run " + image + " within " + TIMEOUT.toSeconds() + " s";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "interrupted";
        } finally {
            attempt.cancel(true);
        }
    }

    /** The innermost message, in one line: the outer ones only say that a container did not start. */
    static String reason(Throwable failure) {
        Throwable innermost = failure;
        while (innermost.getCause() != null) {
            innermost = innermost.getCause();
        }
        String message = innermost.getMessage() == null ? innermost.toString() : innermost.getMessage();
        return message.strip().replaceAll("\\s+", " ");
    }

    private static void attempt(String image) {
        DockerClient docker = DockerClientProviderStrategy.getClientForConfig(
                DockerClientFactory.instance().getTransportConfig());
        try {
            docker.inspectImageCmd(image).exec();
        } catch (NotFoundException e) {
            pull(docker, image);
        }
        // Starts Testcontainers' own container too, unless that is turned off.
        DockerClientFactory.instance().client();
    }

    /** Interrupted, it hangs up, and the engine gives up the pull. */
    private static void pull(DockerClient docker, String image) {
        try (var pulling = docker.pullImageCmd(image).exec(new ResultCallback.Adapter<PullResponseItem>())) {
            pulling.awaitCompletion();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new PostgresClusterException("interrupted while pulling " + image, e);
        } catch (java.io.IOException e) {
            throw new PostgresClusterException("cannot pull " + image, e);
        }
    }
}
