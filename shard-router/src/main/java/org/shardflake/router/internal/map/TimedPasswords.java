/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.map;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.shardflake.server.PasswordSource;

/**
 * Asks an application's password source, and gives up on it when it does not answer. Otherwise one that hangs would stop the threads that
 * follow the shard map. Thread-safe.
 */
public final class TimedPasswords implements PasswordSource {

    private static final Duration LIMIT = Duration.ofSeconds(10);
    /** The limit on calls that never return, not even when interrupted; more of them mean that the source is broken. */
    private static final int MOST_CALLS = 200;

    private final PasswordSource source;
    private final Duration limit;
    private final AtomicInteger calls = new AtomicInteger();

    public TimedPasswords(PasswordSource source) {
        this(source, LIMIT);
    }

    TimedPasswords(PasswordSource source, Duration limit) {
        this.source = source;
        this.limit = limit;
    }

    @Override
    public String password(Login login) throws Exception {
        FutureTask<String> call = new FutureTask<>(() -> source.password(login));
        if (calls.incrementAndGet() > MOST_CALLS) {
            calls.decrementAndGet();
            throw new TimeoutException(
                    "%s earlier calls of the source of passwords have not returned".formatted(MOST_CALLS));
        }
        Thread thread = new Thread(() -> run(call), "shardflake-password");
        thread.setDaemon(true);
        thread.start();
        try {
            return call.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception failure ? failure : e;
        } catch (TimeoutException e) {
            TimeoutException explained = new TimeoutException(
                    "the source of passwords did not answer within %s ms".formatted(limit.toMillis()));
            explained.initCause(e);
            throw explained;
        } finally {
            call.cancel(true);
        }
    }

    private void run(FutureTask<String> call) {
        try {
            call.run();
        } finally {
            calls.decrementAndGet();
        }
    }

    @Override
    public void refused(Login login, String password) {
        source.refused(login, password);
    }
}
