/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/** The last result of a slow check, its time, and whether the check is running now. Not thread-safe. */
final class CachedResult {

    /** The computation of a result. */
    interface Question {
        Map<String, Object> ask() throws InterruptedException;
    }

    private final Question question;
    private final Consumer<Map<String, Object>> page;
    private Map<String, Object> last = Map.of();

    CachedResult(Question question, Consumer<Map<String, Object>> page) {
        this.question = question;
        this.page = page;
    }

    void run() throws InterruptedException {
        show("examines", "");
        try {
            Map<String, Object> found = new LinkedHashMap<>(question.ask());
            found.put("at", Instant.now().toString());
            last = found;
            show("done", "");
        } catch (RuntimeException e) {
            show("failed", String.valueOf(e.getMessage()));
        } catch (Error e) {
            show("failed", e.toString());
            throw e;
        }
    }

    private void show(String state, String problem) {
        Map<String, Object> facts = new LinkedHashMap<>(last);
        facts.put("state", state);
        facts.put("problem", problem);
        page.accept(facts);
    }
}
