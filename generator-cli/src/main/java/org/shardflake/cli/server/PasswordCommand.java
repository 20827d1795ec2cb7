/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.server.PasswordSource;

/**
 * Runs a program that prints the password for a login, which the program reads from {@code PGHOST}, {@code PGPORT}, {@code PGDATABASE} and
 * {@code PGUSER}. Thread-safe.
 *
 * <p>What it printed, or its failure, is good for a few seconds, so that many connections to a server do not run it many times.
 */
final class PasswordCommand implements PasswordSource {

    static final Duration LIMIT = Duration.ofSeconds(20);
    private static final Duration KEPT = Duration.ofSeconds(5);
    /** The time within which a service that has changed a password at the server must hand out the new one. */
    private static final Duration HANDED_OUT = Duration.ofSeconds(5);

    private static final Duration AGAIN = Duration.ofMillis(250);
    private static final int MOST_BYTES = 64 * 1024;
    private static final int MOST_LINES = 5;

    private final List<String> words;
    private final Map<String, String> environment;
    private final Duration limit;
    private final Duration kept;
    private final Duration handedOut;
    private final ConcurrentHashMap<Login, Answer> answers = new ConcurrentHashMap<>();
    /** The passwords that servers have refused, and those that were not replaced in time. */
    private final Map<Login, String> refused = new ConcurrentHashMap<>();

    private final Map<Login, String> stayed = new ConcurrentHashMap<>();

    /** A password, or the reason why there is none. */
    private record Answer(
            @Nullable String password, @Nullable IOException failure, long nanoTime) {}

    PasswordCommand(List<String> words, Map<String, String> environment) {
        this(words, environment, LIMIT, KEPT, HANDED_OUT);
    }

    PasswordCommand(
            List<String> words, Map<String, String> environment, Duration limit, Duration kept, Duration handedOut) {
        this.words = List.copyOf(words);
        this.environment = Map.copyOf(environment);
        this.limit = limit;
        this.kept = kept;
        this.handedOut = handedOut;
    }

    @Override
    public String password(Login login) throws IOException {
        // Others who want the same password wait for this run.
        Answer answer = answers.compute(login, (key, known) -> known != null && isFresh(known) ? known : answer(key));
        if (answer.password() == null) {
            throw new IOException(
                    answer.failure() == null
                            ? "it printed nothing"
                            : answer.failure().getMessage(),
                    answer.failure());
        }
        return answer.password();
    }

    private boolean isFresh(Answer answer) {
        return System.nanoTime() - answer.nanoTime() < kept.toNanos();
    }

    @Override
    public void refused(Login login, String password) {
        refused.put(login, password);
        answers.computeIfPresent(login, (key, known) -> password.equals(known.password()) ? null : known);
    }

    private Answer answer(Login login) {
        try {
            return new Answer(afterRefusal(login, run(login)), null, System.nanoTime());
        } catch (IOException e) {
            return new Answer(null, e, System.nanoTime());
        }
    }

    /** The password after a refusal: waits once for a new one, and otherwise returns the refused one, which is probably just wrong. */
    private String afterRefusal(Login login, String first) throws IOException {
        @Nullable String old = refused.get(login);
        String printed = first.equals(old) && !first.equals(stayed.get(login)) ? successor(login, first) : first;
        if (printed.equals(old)) {
            stayed.put(login, printed);
        } else {
            // Nothing refuses it, so a later refusal is a new one, whose successor may come.
            stayed.remove(login);
        }
        // Only now: a command that fails while its successor is waited for has not answered the refusal.
        if (old != null) {
            refused.remove(login, old); // Another may have been refused in the meantime.
        }
        return printed;
    }

    private String successor(Login login, String old) throws IOException {
        String printed = old;
        long end = System.nanoTime() + handedOut.toNanos();
        while (printed.equals(old) && System.nanoTime() - end < 0) {
            try {
                Thread.sleep(AGAIN.toMillis());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted while waiting for a password that the server does not refuse", e);
            }
            printed = run(login);
        }
        return printed;
    }

    private String run(Login login) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(words);
        builder.environment().clear();
        builder.environment().putAll(environment);
        builder.environment().put("PGHOST", login.host());
        builder.environment().put("PGPORT", String.valueOf(login.port()));
        builder.environment().put("PGDATABASE", login.database());
        builder.environment().put("PGUSER", login.user());
        Process process;
        try {
            process = builder.start();
        } catch (IOException e) {
            throw new IOException("the password command cannot be started: " + e.getMessage(), e);
        }
        try {
            process.getOutputStream().close();
            FutureTask<String> output = reading(process.getInputStream());
            FutureTask<String> errors = reading(process.getErrorStream());
            long end = System.nanoTime() + limit.toNanos();
            if (!process.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new IOException("the password command did not end within %s s".formatted(limit.toSeconds()));
            }
            String password = text(output, end);
            int exitCode = process.exitValue();
            if (exitCode != 0) {
                throw new IOException("the password command failed with exit code %s%s"
                        .formatted(exitCode, shown(text(errors, end), password)));
            }
            return checked(password);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while the password command ran", e);
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    private static FutureTask<String> reading(InputStream stream) {
        FutureTask<String> reading = new FutureTask<>(() -> new String(stream.readNBytes(MOST_BYTES), UTF_8));
        Thread thread = new Thread(reading, "shardflake password command");
        thread.setDaemon(true);
        thread.start();
        return reading;
    }

    /** The command's output, read with a time limit, since a program that the command left behind may keep it open. */
    private static String text(FutureTask<String> reading, long end) throws IOException, InterruptedException {
        try {
            return reading.get(Math.max(1, end - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new IOException("the password command ended, but something that it started holds its output open", e);
        } catch (ExecutionException e) {
            throw new UncheckedIOException(new IOException(e.getCause()));
        }
    }

    private static String checked(String printed) throws IOException {
        String password = printed.replaceFirst("\r?\n$", "");
        if (password.isEmpty()) {
            throw new IOException("the password command printed nothing on its standard output");
        }
        if (password.length() >= MOST_BYTES || password.indexOf('\n') >= 0) {
            throw new IOException("the password command printed more than one line on its standard output");
        }
        if (password.indexOf('\uFFFD') >= 0) {
            throw new IOException("the password command printed bytes that are not UTF-8 on its standard output");
        }
        return password;
    }

    private static String shown(String errors, String printed) {
        String secret = printed.strip();
        String known = secret.isEmpty() ? errors : errors.replace(secret, "***");
        String lines = known.lines()
                .map(String::strip)
                .filter(line -> !line.isEmpty())
                .limit(MOST_LINES)
                .collect(Collectors.joining("; "));
        return lines.isEmpty() ? "" : ": " + lines;
    }
}
