/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.load;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/** Queries servers in parallel. */
final class EachServer {

    /** The limit on waits for locks, since neither statistics nor sizes are worth a long wait. */
    private static final String PATIENCE = "SET lock_timeout = '10s'";

    private EachServer() {}

    @FunctionalInterface
    interface Query<T> {
        T run(Connection connection, Server server) throws SQLException;
    }

    /** The result of one server, or its failure. */
    record Answer<T>(
            ServerUrl url, @Nullable T result, @Nullable Throwable failure) {

        /** The server's error, or the reason why it did not answer. */
        String problem() {
            return failure == null ? "" : Sql.why(url, failure);
        }
    }

    static <T> Map<Server, Answer<T>> ask(Collection<Server> servers, Function<Server, ServerUrl> urls, Query<T> query)
            throws InterruptedException {
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            Map<Server, Asked<T>> asked = new LinkedHashMap<>();
            for (Server server : servers) {
                ServerUrl url = urls.apply(server);
                asked.put(server, new Asked<>(url, threads.submit(() -> ask(url, server, query))));
            }
            Map<Server, Answer<T>> answers = new LinkedHashMap<>();
            for (Map.Entry<Server, Asked<T>> server : asked.entrySet()) {
                answers.put(server.getKey(), server.getValue().answer());
            }
            return answers;
        } finally {
            threads.shutdownNow();
        }
    }

    private static <T> T ask(ServerUrl url, Server server, Query<T> query) throws SQLException {
        return Sql.with(url.connect("shardflake load"), connection -> {
            Sql.execute(connection, PATIENCE);
            return query.run(connection, server);
        });
    }

    private record Asked<T>(ServerUrl url, Future<T> future) {

        Answer<T> answer() throws InterruptedException {
            try {
                return new Answer<>(url, future.get(), null);
            } catch (ExecutionException e) {
                return new Answer<>(url, null, e.getCause() == null ? e : e.getCause());
            }
        }
    }
}
