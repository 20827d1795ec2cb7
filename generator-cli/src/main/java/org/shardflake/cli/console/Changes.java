/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;
import org.shardflake.cli.console.Operator.Outcome;
import org.shardflake.cli.console.Operator.Trial;

/**
 * Runs the commands that the page offers, one at a time: a trial run is shown, the user confirms it, and the command runs. A confirmation
 * has the number of the trial, which is valid once, and is refused if the command would do something else by now. Thread-safe.
 */
final class Changes implements AutoCloseable {

    /** The maximum number of open dialogs; the oldest one is dropped. */
    private static final int MOST_SHOWN = 32;

    private static final int MOST_OUTPUT = 1 << 15;

    private final RunnableCommands offers;
    private final Operator operator;
    private final Consumer<Map<String, Object>> told;
    private final Map<String, Shown> shown = new LinkedHashMap<>();
    private final Object turn = new Object();
    private long count;
    private @Nullable Thread running;

    /** A trial run that was shown to a user. */
    private record Shown(String offer, ShownCommand command, Trial trial) {}

    /** The answer to a request, with its HTTP status. */
    record Answer(int status, Map<String, Object> facts) {}

    /**
     * @param told hears how the change in progress is doing
     */
    Changes(RunnableCommands offers, Operator operator, Consumer<Map<String, Object>> told) {
        this.offers = offers;
        this.operator = operator;
        this.told = told;
    }

    /** Runs an offered command on trial, and shows what it would do. */
    Answer tryOut(String offer) {
        synchronized (turn) {
            Optional<ShownCommand> command = offers.find(offer);
            return command.isEmpty()
                    ? gone()
                    : new Answer(200, show(new Shown(offer, command.get(), operator.tryOut(command.get()))));
        }
    }

    /**
     * Runs a command that was shown and confirmed.
     *
     * @param number of what was shown
     * @param answer to the command's question
     */
    Answer run(String number, String answer) {
        synchronized (turn) {
            Shown before = take(number, answer);
            if (before == null) {
                return refusal(403, "this was not shown, or was run or refused before; press the button again");
            }
            String question = before.trial().question();
            if (!question.isEmpty() && !operator.agrees(answer)) {
                return refusal(400, "not confirmed; nothing was changed");
            }
            if (isRunning()) {
                return refusal(409, "another change is running; nothing was changed");
            }
            if (before.trial().outcome().isRefusal()) {
                return refusal(409, "it would be refused; nothing was changed");
            }
            return offers.find(before.offer()).isEmpty() ? gone() : runIfSame(before);
        }
    }

    /** The trial run with a number; it can be taken once, unless the answer is no. */
    private synchronized @Nullable Shown take(String number, String answer) {
        Shown found = shown.get(number);
        if (found != null && (found.trial().question().isEmpty() || operator.agrees(answer))) {
            shown.remove(number);
        }
        return found;
    }

    private Answer runIfSame(Shown before) {
        Shown now = new Shown(before.offer(), before.command(), operator.tryOut(before.command()));
        if (!now.equals(before)) {
            Map<String, Object> facts = show(now);
            facts.put(
                    "problem",
                    "things have changed since this was shown, so nothing was done; this is what would happen now");
            return new Answer(409, facts);
        }
        try {
            operator.record(before.command().text());
        } catch (ShardflakeException e) {
            return refusal(502, "the map's history cannot be written, so nothing was changed: " + e.getMessage());
        }
        return new Answer(202, Map.of("change", begin(before)));
    }

    private static Answer gone() {
        return refusal(409, "the command is not offered any more: things have changed; nothing was done");
    }

    private static Answer refusal(int status, String problem) {
        return new Answer(status, Map.of("problem", problem));
    }

    private synchronized Map<String, Object> show(Shown now) {
        String number = RunnableCommands.random();
        shown.put(number, now);
        if (shown.size() > MOST_SHOWN) {
            shown.remove(shown.keySet().iterator().next());
        }
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("number", number);
        facts.put("command", now.command().text());
        facts.put("tried", now.trial().command());
        facts.put("output", now.trial().output());
        facts.put("question", now.trial().question());
        facts.put("exitCode", now.trial().outcome().exitCode());
        facts.put("meaning", now.trial().outcome().meaning());
        facts.put("refused", now.trial().outcome().isRefusal());
        return facts;
    }

    private synchronized boolean isRunning() {
        return running != null && running.isAlive();
    }

    private synchronized long begin(Shown agreed) {
        long change = ++count;
        running = new Thread(() -> run(change, agreed), "shardflake console: change");
        running.setDaemon(true);
        tell(change, agreed.command().text(), "", null);
        running.start();
        return change;
    }

    private void run(long change, Shown agreed) {
        String command = agreed.command().text();
        Tail output = new Tail(text -> tell(change, command, text, null));
        Outcome outcome = new Outcome(1, "failed unexpectedly; its output may say why", false);
        try {
            outcome = operator.run(agreed.command().command(), agreed.trial().question(), output);
            recordEnd(command, outcome, output);
        } finally {
            tell(change, command, output.text(), outcome);
        }
    }

    private void recordEnd(String command, Outcome outcome, Tail output) {
        try {
            operator.record("%s: ended with exit code %s".formatted(command, outcome.exitCode()));
        } catch (ShardflakeException e) {
            byte[] problem = "the map's history cannot be written, so it does not say how this ended: %s\n"
                    .formatted(e.getMessage())
                    .getBytes(UTF_8);
            output.write(problem, 0, problem.length);
        }
    }

    private void tell(long change, String command, String output, @Nullable Outcome outcome) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("change", change);
        facts.put("command", command);
        facts.put("output", output);
        facts.put("state", outcome == null ? "runs" : "ended");
        if (outcome != null) {
            facts.put("exitCode", outcome.exitCode());
            facts.put("meaning", outcome.meaning());
        }
        told.accept(facts);
    }

    /** Interrupts the change in progress, as Ctrl-C does in a terminal. */
    @Override
    public synchronized void close() {
        if (running != null) {
            running.interrupt();
        }
    }

    /** Keeps the last part of a command's output, and passes it on as it arrives. */
    private static final class Tail extends OutputStream {

        private final Consumer<String> told;
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private String begin = "";

        Tail(Consumer<String> told) {
            this.told = told;
        }

        @Override
        public synchronized void write(int b) {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public synchronized void write(byte[] more, int offset, int length) {
            bytes.write(more, offset, length);
            if (bytes.size() > 2 * MOST_OUTPUT) {
                byte[] all = bytes.toByteArray();
                bytes.reset();
                bytes.write(all, all.length - MOST_OUTPUT, MOST_OUTPUT);
                begin = "...";
            }
            told.accept(text());
        }

        synchronized String text() {
            return begin + bytes.toString(UTF_8);
        }
    }
}
