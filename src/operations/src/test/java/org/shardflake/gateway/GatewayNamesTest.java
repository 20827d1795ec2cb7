/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.shardflake.Advice;
import org.shardflake.server.ServerUrl;

/** Gateways without a server. */
class GatewayNamesTest {

    @Test
    void foreignServersOfLongNamesAreNotTheSame() {
        Gateway gateway =
                new Gateway("g", "", "schéma".repeat(9), "reader", 0, Optional.empty(), false, Optional.empty());
        List<String> servers = List.of("db1", "db2", "db1".repeat(20), "db1".repeat(20) + "x");

        Set<String> names = servers.stream()
                .map(server -> GatewayDatabase.foreignServer(gateway, server))
                .collect(Collectors.toSet());

        assertThat(names)
                .hasSameSizeAs(servers)
                .allSatisfy(name -> assertThat(name.getBytes(UTF_8)).hasSizeLessThanOrEqualTo(63));
    }

    /** Its catalog does not answer. */
    @Test
    void aFollowerThatFailsKeepsNoMoveWaiting() {
        List<Advice> problems = new CopyOnWriteArrayList<>();
        ServerUrl nowhere = ServerUrl.parse("postgresql://127.0.0.1:1/none");
        GatewayFollower follower = new GatewayFollower(new Gateways(nowhere, name -> nowhere), problems::add);

        for (int cutover = 0; cutover < 2; cutover++) {
            follower.moved();
            follower.settled();
        }

        assertThat(problems).as("what was not awaited in vain").isEmpty();
    }

    /** An uncaught failure ends the worker. The next cutover needs another one, and must not wait for the dead one. */
    @Test
    void aFollowerWhoseWorkerHasDiedHasAnother() throws InterruptedException {
        List<Advice> problems = new CopyOnWriteArrayList<>();
        BlockingQueue<Thread> workers = new LinkedBlockingQueue<>();
        ServerUrl deadly = ServerUrl.parse("postgresql://127.0.0.1:1/none").asking(login -> {
            Thread worker = Thread.currentThread();
            worker.setUncaughtExceptionHandler((dead, error) -> workers.add(dead));
            throw new OutOfMemoryError("of a test");
        });
        GatewayFollower follower = new GatewayFollower(new Gateways(deadly, name -> deadly), problems::add);

        Set<Thread> dead = new HashSet<>();
        for (int cutover = 0; cutover < 2; cutover++) {
            follower.moved();
            follower.settled();
            dead.add(workers.poll(1, TimeUnit.MINUTES));
        }

        assertThat(dead).hasSize(2).doesNotContainNull();
        assertThat(problems).as("what was not awaited in vain").isEmpty();
    }
}
