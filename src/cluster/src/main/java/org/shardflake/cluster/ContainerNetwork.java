/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import com.github.dockerjava.api.command.CreateContainerCmd;
import com.github.dockerjava.api.model.ExposedPort;
import com.github.dockerjava.api.model.PortBinding;
import com.github.dockerjava.api.model.Ports.Binding;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Objects;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.utility.DockerImageName;

/**
 * A container that does nothing, whose network the servers of a cluster share.
 *
 * <p>Each server thus has one address, {@code localhost} and its port, for this machine and for the servers that
 * subscribe to it, and keeps it across restarts. Ports can only be published when this container starts.
 */
final class ContainerNetwork {
    private final String host;
    private final List<Integer> ports;
    private final GenericContainer<?> container;

    ContainerNetwork(String image, String host, List<Integer> ports) {
        this.host = host;
        this.ports = ports;
        this.container = new GenericContainer<>(DockerImageName.parse(image))
                .withCreateContainerCmdModifier(this::configure)
                .waitingFor(new NoWait());
    }

    void open() {
        container.start();
    }

    String host() {
        return host;
    }

    String id() {
        return Objects.requireNonNull(container.getContainerId());
    }

    void close() {
        container.stop();
    }

    private void configure(CreateContainerCmd command) {
        command.withEntrypoint("sleep").withCmd("infinity");
        command.withExposedPorts(ports.stream().map(ExposedPort::tcp).toList());
        Objects.requireNonNull(command.getHostConfig())
                .withInit(true)
                .withPortBindings(ports.stream().map(this::publish).toList());
    }

    /** The binding of a port, to this machine only if the engine runs on it. */
    private PortBinding publish(int port) {
        return new PortBinding(
                isLoopback(host) ? Binding.bindIpAndPort("127.0.0.1", port) : Binding.bindPort(port),
                ExposedPort.tcp(port));
    }

    private static boolean isLoopback(String host) {
        try {
            return InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException e) {
            return false;
        }
    }
}
