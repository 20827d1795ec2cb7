/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.DockerException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.testcontainers.postgresql.PostgreSQLContainer;
import org.testcontainers.utility.DockerImageName;

/** A server in a container, whose first process is PostgreSQL, so that signals to the container reach it. */
final class ContainerServer extends ClusterServer {
    private static final long SHARED_MEMORY = 256L << 20;

    private final String image;
    private final int version;
    private final String host;
    private final int port;
    private final String password;
    private final PostgreSQLContainer container;
    private boolean closed;

    ContainerServer(
            String name,
            String image,
            int version,
            String host,
            int port,
            String password,
            Map<String, String> settings,
            String networkContainerId) {
        super(name);
        this.image = image;
        this.version = version;
        this.host = host;
        this.port = port;
        this.password = password;
        List<String> command = new ArrayList<>(List.of("postgres", "-c", "port=" + port));
        settings.forEach((setting, value) -> command.addAll(List.of("-c", setting + "=" + value)));
        this.container = new Container(image, port)
                .withDatabaseName("postgres")
                .withUsername(user())
                .withPassword(password)
                .withEnv("POSTGRES_INITDB_ARGS", "--encoding=UTF8 --no-locale")
                .withNetworkMode("container:" + networkContainerId)
                .withSharedMemorySize(SHARED_MEMORY)
                .withCommand(command.toArray(String[]::new))
                .waitingFor(new NoWait());
    }

    @Override
    synchronized void open() {
        requireOpen();
        try {
            container.start();
        } catch (RuntimeException e) {
            throw new PostgresClusterException(this + " did not start: " + DockerEngine.reason(e) + logTail(), e);
        }
        awaitConnection();
        requireVersion(version, "the image is " + image);
    }

    @Override
    public synchronized void start() {
        requireOpen();
        if (!isRunning()) {
            docker().startContainerCmd(id()).exec();
            awaitConnection();
        }
    }

    @Override
    public synchronized void crash() {
        shutDown("QUIT");
    }

    @Override
    public synchronized void stop() {
        shutDown("INT");
    }

    @Override
    public boolean canRestart() {
        return true;
    }

    @Override
    synchronized void close() {
        closed = true;
        container.stop();
    }

    @Override
    String host() {
        return host;
    }

    @Override
    int port() {
        return port;
    }

    @Override
    public String password() {
        return password;
    }

    @Override
    boolean isRunning() {
        return Boolean.TRUE.equals(
                docker().inspectContainerCmd(id()).exec().getState().getRunning());
    }

    @Override
    String logTail() {
        try {
            return container.getContainerId() == null ? "" : Command.lastLines(container.getLogs());
        } catch (DockerException e) {
            return "";
        }
    }

    private void shutDown(String signal) {
        if (isRunning()) {
            docker().killContainerCmd(id()).withSignal(signal).exec();
            docker().waitContainerCmd(id()).start().awaitStatusCode(60, TimeUnit.SECONDS);
        }
    }

    private void requireOpen() {
        if (closed) {
            throw new PostgresClusterException(this + " has been closed");
        }
    }

    private String id() {
        return Objects.requireNonNull(container.getContainerId());
    }

    private DockerClient docker() {
        return container.getDockerClient();
    }

    /** A container without published ports, since it is in the network of one that publishes them. */
    private static final class Container extends PostgreSQLContainer {
        private final int port;

        Container(String image, int port) {
            super(DockerImageName.parse(image).asCompatibleSubstituteFor("postgres"));
            this.port = port;
            setExposedPorts(List.of());
        }

        @Override
        public Integer getMappedPort(int originalPort) {
            return port;
        }
    }
}
