/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.testcontainers.DockerClientFactory;

/** Starts containers on a Docker engine. */
final class ContainerProvider implements ServerProvider {
    /** The number of servers that a cluster can grow to, unless it starts with more. */
    private static final int PORTS = 8;

    private final String image;
    private final int version;
    private final Map<String, String> settings;
    private final String password = UUID.randomUUID().toString();
    private final List<Integer> ports;
    private int used;
    private @Nullable ContainerNetwork network;

    ContainerProvider(int version, Map<String, String> settings, int servers) {
        this.image = image(version);
        this.version = version;
        this.settings = settings;
        this.ports = IntStream.generate(Ports::free)
                .distinct()
                .limit(Math.max(servers, PORTS))
                .boxed()
                .toList();
    }

    /** The image for a version of PostgreSQL, or the one that {@code postgres.image} names. */
    static String image(int version) {
        return SystemProperties.get("postgres.image").orElse("postgres:" + version);
    }

    @Override
    public ClusterServer newServer(String name) {
        if (used == ports.size()) {
            throw new PostgresClusterException("no port left for " + name + ": a cluster in containers that starts with"
                    + " up to " + ports.size() + " servers cannot grow beyond; start it with more");
        }
        String host = network().host();
        return new ContainerServer(
                name,
                image,
                version,
                host,
                ports.get(used++),
                password,
                settings,
                network().id());
    }

    @Override
    public void close() {
        if (network != null) {
            network.close();
        }
    }

    private ContainerNetwork network() {
        try {
            if (network == null) {
                network = new ContainerNetwork(
                        image, DockerClientFactory.instance().dockerHostIpAddress(), ports);
                network.open();
            }
            return network;
        } catch (RuntimeException e) {
            throw new PostgresClusterException(
                    "cannot start containers of " + image + " with Testcontainers: " + e.getMessage() + " ("
                            + DockerEngine.reason(e) + ")",
                    e);
        }
    }
}
