/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What a router knows without asking: by numbers that fences had, as answers bring them. */
class OpenShardsTest {

    private long now = Long.MAX_VALUE - 100; // nanoTime may overflow
    private final OpenShards shards = new OpenShards(() -> now);

    @Test
    void aShardIsKnownByItsSecondAnswer() {
        answer(7, 40);
        assertThat(shards.isKnownOpen(7)).isFalse(); // The number may have been read after a look at the shard.
        answer(7, 40);
        assertThat(shards.isKnownOpen(7)).isTrue();
        assertThat(shards.isKnownOpen(8)).isFalse();
    }

    @Test
    void aLeaseIsCountedFromBeforeItsQuestion() {
        answer(7, 40);
        OpenShards.Question question = shards.ask(7);
        now += 400_000;
        shards.isOpen(question, 40);
        now += 1_099_999;
        assertThat(shards.isKnownOpen(7)).isTrue();
        now++;
        assertThat(shards.isKnownOpen(7)).isFalse();
    }

    @Test
    void anAnswerForOneShardIsALeaseForAllThatWereOpenAfterTheSameNumber() {
        answer(7, 40);
        answer(7, 40);
        now += 3_600_000_000_000L;
        answer(8, 40);
        assertThat(shards.isKnownOpen(7)).isTrue();
        assertThat(shards.isKnownOpen(8)).isTrue(); // A number stays what it was when its lease ends.
    }

    @Test
    void anotherNumberMakesAllShardsUnknown() {
        answer(7, 40);
        answer(7, 40);
        answer(8, -9);
        assertThat(shards.isKnownOpen(7)).isFalse();
        answer(7, -9);
        assertThat(shards.isKnownOpen(7)).isTrue();
        assertThat(shards.isKnownOpen(8)).isFalse();
    }

    @Test
    void aNumberThatCameWithTheAnswerIsNotThatOfTheShard() {
        answer(8, 40);
        OpenShards.Question before = shards.ask(7);
        answer(8, 41); // Shard 7 may be what this fence is of.
        shards.isOpen(before, 41);
        assertThat(shards.isKnownOpen(7)).isFalse();
    }

    private void answer(int shard, long fence) {
        shards.isOpen(shards.ask(shard), fence);
    }
}
