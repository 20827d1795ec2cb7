/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.watch;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The JDK's web server with one handler, its own threads, and a time limit. */
public final class WebServer implements AutoCloseable {

    /** The maximum number of clients that may be sending a request, each with its own thread, apart from the threads that answer. */
    private static final int ARRIVING = 200;

    private static final String TEXT = "text/plain; charset=utf-8";

    private final HttpServer server;
    private final ExecutorService threads;

    private WebServer(HttpServer server, ExecutorService threads) {
        this.server = server;
        this.threads = threads;
    }

    /**
     * Starts to serve. No request and no answer takes longer than 30 seconds.
     *
     * @param requests answered at a time
     * @throws IOException if it cannot listen at the address
     */
    public static WebServer start(InetSocketAddress address, int requests, HttpHandler handler) throws IOException {
        // Nobody holds a thread by sending a request, or by taking its answer, slower than this; the JDK has no limit
        // of its own.
        for (String limit : new String[] {"sun.net.httpserver.maxReqTime", "sun.net.httpserver.maxRspTime"}) {
            if (System.getProperty(limit) == null) {
                System.setProperty(limit, "30");
            }
        }
        WebServer started = new WebServer(HttpServer.create(address, 0), threads(requests + ARRIVING));
        Semaphore answering = new Semaphore(requests);
        started.server.createContext("/", exchange -> {
            answering.acquireUninterruptibly();
            try (exchange) {
                handler.handle(exchange);
            } finally {
                answering.release();
            }
        });
        started.server.setExecutor(started.threads);
        started.server.start();
        return started;
    }

    /** A pool whose idle threads end. */
    private static ExecutorService threads(int most) {
        ThreadPoolExecutor threads =
                new ThreadPoolExecutor(most, most, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
        threads.allowCoreThreadTimeOut(true);
        return threads;
    }

    /** The address that the server listens on. */
    public InetSocketAddress address() {
        return server.getAddress();
    }

    /** Answers a request; an answer to HEAD has no body. */
    public static void answer(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type);
        boolean isHead = exchange.getRequestMethod().equals("HEAD");
        exchange.sendResponseHeaders(status, isHead ? -1 : body.length);
        if (!isHead) {
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(body);
            }
        }
    }

    /** Answers a request with a line of text. */
    public static void say(HttpExchange exchange, int status, String line) throws IOException {
        answer(exchange, status, TEXT, (line + "\n").getBytes(UTF_8));
    }

    /** Whether the request only reads; answers it otherwise. */
    public static boolean isRead(HttpExchange exchange) throws IOException {
        String method = exchange.getRequestMethod();
        if (method.equals("GET") || method.equals("HEAD")) {
            return true;
        }
        exchange.getResponseHeaders().set("Allow", "GET, HEAD");
        say(exchange, 405, "only GET and HEAD are answered");
        return false;
    }

    /** Stops answering requests. */
    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
