/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.shardflake.cli.watch.WebServer;

/** Asks for the password with HTTP's Basic scheme; the name does not matter. Thread-safe. */
final class Login {

    private static final int MOST_WRONG = 5;
    private static final long MINUTE = Duration.ofMinutes(1).toNanos();

    /** Addresses that are remembered; the oldest is forgotten. */
    private static final int MOST_ADDRESSES = 10_000;

    private final Remote remote;
    private final Consumer<String> told;
    private final Map<InetAddress, Wrong> wrong = new LinkedHashMap<>();

    /** How many wrong passwords came from an address in the minute that began at this time. */
    private record Wrong(long began, int count) {}

    /**
     * @param told hears of wrong passwords
     */
    Login(Remote remote, Consumer<String> told) {
        this.remote = remote;
        this.told = told;
    }

    /** Whether the request has the password; if not, answers it. */
    boolean letsIn(HttpExchange exchange) throws IOException {
        InetAddress from = exchange.getRemoteAddress().getAddress();
        String sent = exchange.getRequestHeaders().getFirst("Authorization");
        if (sent != null && isTooMany(from)) {
            exchange.getResponseHeaders().set("Retry-After", "60");
            WebServer.say(exchange, 429, "too many wrong passwords; try again in a minute");
            return false;
        }
        if (sent != null && remote.isPassword(password(sent))) {
            return true;
        }
        if (sent != null) {
            count(from);
            told.accept("a wrong password for the console came from " + from.getHostAddress());
        }
        exchange.getResponseHeaders().set("WWW-Authenticate", "Basic realm=\"shardflake console\", charset=\"UTF-8\"");
        WebServer.say(exchange, 401, "the password is needed, with any name");
        return false;
    }

    private static String password(String header) {
        try {
            String pair = new String(Base64.getDecoder().decode(header.replaceFirst("(?i)^basic +", "")), UTF_8);
            return pair.substring(pair.indexOf(':') + 1);
        } catch (IllegalArgumentException e) {
            return ""; // No such encoding, and no password either.
        }
    }

    private synchronized boolean isTooMany(InetAddress from) {
        Wrong before = wrong.get(from);
        return before != null && before.count() >= MOST_WRONG && System.nanoTime() - before.began() < MINUTE;
    }

    private synchronized void count(InetAddress from) {
        Wrong before = wrong.remove(from);
        if (before == null || System.nanoTime() - before.began() >= MINUTE) {
            wrong.put(from, new Wrong(System.nanoTime(), 1));
        } else {
            wrong.put(from, new Wrong(before.began(), before.count() + 1));
        }
        if (wrong.size() > MOST_ADDRESSES) {
            wrong.remove(wrong.keySet().iterator().next());
        }
    }
}
