/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.NotFoundException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.dockerclient.DockerClientProviderStrategy;
import org.testcontainers.utility.DockerImageName;
import org.testcontainers.utility.ImageNameSubstitutor;

/** Finds out quickly whether there is a usable Docker engine. */
final class DockerEngine {
    private static final Duration TIMEOUT = Duration.ofSeconds(8);
    private static final String RYUK = "testcontainers/ryuk";

    private DockerEngine() {}

    /**
     * The reason why containers of the image cannot be started now, or null if they can.
     *
     * <p>The engine is asked in a separate thread, because any step may take long. Images are not pulled, not even by
     * Testcontainers, which would retry for minutes if no registry answers.
     */
    static @Nullable String problem(String image) {
        FutureTask<@Nullable String> check = new FutureTask<>(() -> check(image));
        Thread thread = new Thread(check, "docker-engine-check");
        thread.setDaemon(true);
        thread.start();
        try {
            return check.get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            // Any Throwable: besides its own exceptions, Testcontainers throws errors of class initialisation.
            return "no Docker engine can be used: " + reason(e);
        } catch (TimeoutException e) {
            return "the Docker engine did not answer within " + TIMEOUT.toSeconds() + " s";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new PostgresClusterException("interrupted while asking for a Docker engine", e);
        } finally {
            check.cancel(true);
        }
    }

    /** The innermost message in one line, since the outer ones only say that a container did not start. */
    static String reason(Throwable failure) {
        Throwable innermost = failure;
        while (innermost.getCause() != null) {
            innermost = innermost.getCause();
        }
        String message = innermost.getMessage() == null ? innermost.toString() : innermost.getMessage();
        return message.strip().replaceAll("\\s+", " ");
    }

    private static @Nullable String check(String image) {
        DockerClient docker = DockerClientProviderStrategy.getClientForConfig(
                DockerClientFactory.instance().getTransportConfig());
        try {
            docker.inspectImageCmd(image).exec();
        } catch (NotFoundException e) {
            return "the Docker engine has no image " + image + " (docker pull " + image + ")";
        }
        if (!Boolean.parseBoolean(System.getenv("TESTCONTAINERS_RYUK_DISABLED"))) {
            String ryuk = ImageNameSubstitutor.instance()
                    .apply(DockerImageName.parse(RYUK))
                    .getUnversionedPart();
            if (docker.listImagesCmd().withReferenceFilter(ryuk).exec().isEmpty()) {
                return "the Docker engine has no image " + ryuk
                        + ", which Testcontainers cleans up with (-Dpostgres.provider=testcontainers pulls it)";
            }
        }
        DockerClientFactory.instance().client();
        return null;
    }
}
