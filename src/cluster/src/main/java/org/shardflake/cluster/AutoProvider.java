/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** Chooses the best provider that this machine offers, and reports the choice and the reason once on stderr. */
final class AutoProvider {
    private static final AtomicBoolean said = new AtomicBoolean();
    private static @Nullable String dockerProblem;

    private AutoProvider() {}

    static PostgresCluster start(int servers, OptionalInt version, Map<String, String> settings, List<String> urls) {
        if (!urls.isEmpty()) {
            PostgresCluster cluster = PostgresCluster.start(new ExternalProvider(urls), servers);
            say("servers given by postgres.urls");
            return cluster;
        }
        int wanted = version.orElse(SystemProperties.LATEST);
        String image = ContainerProvider.image(wanted);
        String problem = dockerProblem(image);
        if (problem == null) {
            try {
                PostgresCluster cluster =
                        PostgresCluster.start(new ContainerProvider(wanted, settings, servers), servers);
                say("containers of " + image + ", since a Docker engine has the image");
                return cluster;
            } catch (PostgresClusterException e) {
                problem = e.getMessage();
                remember(problem);
            }
        }
        say("embedded servers, since " + problem);
        return PostgresCluster.start(new EmbeddedProvider(version, settings, Map.of()), servers);
    }

    /** The problem with Docker, or null without one. The first failure is kept, so as not to wait for an unusable engine again. */
    private static synchronized @Nullable String dockerProblem(String image) {
        if (dockerProblem == null) {
            dockerProblem = DockerEngine.problem(image);
        }
        return dockerProblem;
    }

    private static synchronized void remember(@Nullable String problem) {
        dockerProblem = problem;
    }

    private static void say(String choice) {
        if (said.compareAndSet(false, true)) {
            System.err.println(
                    "PostgreSQL: " + choice.lines().findFirst().orElse("") + "; choose with -Dpostgres.provider");
        }
    }
}
