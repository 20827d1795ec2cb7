/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.shardflake.router.LookupEntry;

/**
 * What rows held, and what was found, by a clock that ticks with each entry. A row certainly holds a value from when its claim was
 * answered until its release was begun, and possibly from when the claim was begun until the release was answered.
 */
final class LookupHistory {

    private record Holding(LookupEntry row, long begun, long answered, long releaseBegun, long releaseAnswered) {}

    private record Finding(String value, long begun, long answered, Optional<LookupEntry> found) {}

    /** What a row holds now. */
    private record Open(String value, long begun, long answered) {}

    private final AtomicLong clock = new AtomicLong();
    private final Map<String, Queue<Holding>> holdings = new ConcurrentHashMap<>();
    private final Map<LookupEntry, Open> open = new ConcurrentHashMap<>();
    private final Queue<Finding> findings = new ConcurrentLinkedQueue<>();

    long tick() {
        return clock.incrementAndGet();
    }

    /** Notes that an operation on a row, begun at some time, has ended, and what the row holds now. */
    void holds(LookupEntry row, @Nullable String value, long begun) {
        long now = tick();
        Open before = open.get(row);
        if (before != null && before.value().equals(value)) {
            return;
        }
        if (before != null) {
            end(row, before, begun, now);
        }
        if (value != null) {
            open.put(row, new Open(value, begun, now));
        }
    }

    /** What a row was seen to hold last. */
    @Nullable
    String held(LookupEntry row) {
        Open its = open.get(row);
        return its == null ? null : its.value();
    }

    private void end(LookupEntry row, Open before, long begun, long answered) {
        open.remove(row);
        holdings.computeIfAbsent(before.value(), value -> new ConcurrentLinkedQueue<>())
                .add(new Holding(row, before.begun(), before.answered(), begun, answered));
    }

    void found(String value, long begun, Optional<LookupEntry> found) {
        findings.add(new Finding(value, begun, tick(), found));
    }

    /** Every contradiction. */
    List<String> contradictions() {
        long end = tick();
        Map.copyOf(open).forEach((row, its) -> end(row, its, end, end + 1));
        List<String> contradictions = new ArrayList<>();
        holdings.forEach((value, all) -> {
            List<Holding> list = List.copyOf(all);
            for (int i = 0; i < list.size(); i++) {
                for (int j = i + 1; j < list.size(); j++) {
                    Holding one = list.get(i);
                    Holding other = list.get(j);
                    if (one.answered() < other.releaseBegun() && other.answered() < one.releaseBegun()) {
                        contradictions.add("%s was held by two: %s and %s".formatted(value, one, other));
                    }
                }
            }
        });
        for (Finding finding : findings) {
            boolean isPossible = finding.found().isPresent() ? mayHold(finding) : !isCertainlyHeld(finding);
            if (!isPossible) {
                contradictions.add("%s contradicts %s".formatted(finding, holdings.get(finding.value())));
            }
        }
        return contradictions;
    }

    private Queue<Holding> holdings(Finding finding) {
        return holdings.getOrDefault(finding.value(), new ConcurrentLinkedQueue<>());
    }

    private boolean mayHold(Finding finding) {
        return holdings(finding).stream()
                .anyMatch(holding -> holding.row().equals(finding.found().orElseThrow())
                        && holding.begun() < finding.answered()
                        && finding.begun() < holding.releaseAnswered());
    }

    private boolean isCertainlyHeld(Finding finding) {
        return holdings(finding).stream()
                .anyMatch(
                        holding -> holding.answered() < finding.begun() && finding.answered() < holding.releaseBegun());
    }

    int size() {
        return holdings.values().stream().mapToInt(Queue::size).sum();
    }

    int findings() {
        return findings.size();
    }
}
