/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RepeatingTaskTest {

    private final PageState board = new PageState(Set.of());
    private final List<String> told = new CopyOnWriteArrayList<>();
    private final AtomicInteger runs = new AtomicInteger();

    @AfterEach
    void end() {
        board.close();
    }

    private RepeatingTask task(Duration pause) {
        return new RepeatingTask("test", board, pause, told::add, () -> {
            if (runs.incrementAndGet() == 1) {
                throw new NoClassDefFoundError("org/example/Missing");
            }
        });
    }

    @Test
    void anErrorIsToldAndTheTaskRunsAgain() {
        board.arrive();
        task(Duration.ZERO).start();

        await().until(() -> runs.get() > 1);
        assertThat(told)
                .containsExactly(
                        "shardflake console: test failed: java.lang.NoClassDefFoundError: org/example/Missing");
    }

    @Test
    void aTaskRunsAlsoUnseenIfItMay() {
        RepeatingTask seen = task(Duration.ZERO);
        seen.start();
        await().until(() -> runs.get() == 1);
        seen.stop();

        task(Duration.ofHours(1)).alsoUnseen(Duration.ofMillis(1)).start();

        await().until(() -> runs.get() > 2);
    }
}
