/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import java.net.HttpCookie;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Checks that a request comes from the console's own page. A browser on this machine, or at the end of a tunnel to it, is let in once it has
 * come with the token. Pages of other sites are refused: they do not have the cookie, and their {@code Host}, {@code Origin} and {@code
 * Sec-Fetch-Site} differ.
 */
final class RequestGuard {

    /**
     * Matches the names and addresses of this machine that a request may be sent to; an attacker's DNS can give this machine's address only to
     * other names. The port may be that of a tunnel.
     */
    private static final Pattern LOCAL_HOST =
            Pattern.compile("(?:localhost|127(?:\\.[0-9]{1,3}){3}|\\[::1])(?::[0-9]{1,5})?", Pattern.CASE_INSENSITIVE);

    private static final String CHANGE_HEADER = "Shardflake-Change";

    private static final int BYTES = 24;

    /**
     * A path that is new with each start, so that the cookie is not sent to another service at this address or tunnel: browsers ignore ports in
     * cookies.
     */
    private final String place = random(6);

    private final String token = random(BYTES);
    private final String session = random(BYTES);

    /** Random bytes as hexadecimal digits. */
    static String random(int bytes) {
        byte[] random = new byte[bytes];
        new SecureRandom().nextBytes(random);
        return HexFormat.of().formatHex(random);
    }

    String token() {
        return token;
    }

    /** The path prefix of the page. */
    String root() {
        return "/" + place + "/";
    }

    /** The cookie for a client that has presented the token. */
    String newCookie() {
        return "%s=%s; Path=%s; HttpOnly; SameSite=Strict".formatted(cookie(), session, root());
    }

    private String cookie() {
        return "shardflake_console_" + place;
    }

    /** The reason to refuse a request, whatever its path, if any. */
    Optional<String> refuse(HttpExchange exchange) {
        Headers headers = exchange.getRequestHeaders();
        List<String> hosts = headers.getOrDefault("Host", List.of());
        if (hosts.size() != 1 || !LOCAL_HOST.matcher(hosts.get(0)).matches()) {
            return Optional.of("only requests to localhost are answered");
        }
        String origin = headers.getFirst("Origin");
        if (origin != null && !origin.equalsIgnoreCase("http://" + hosts.get(0))) {
            return Optional.of("requests of other sites are not answered");
        }
        String site = headers.getFirst("Sec-Fetch-Site");
        boolean isOwn = site == null || site.equals("same-origin") || site.equals("none");
        return isOwn || isLink(exchange) ? Optional.empty() : Optional.of("requests of other sites are not answered");
    }

    /**
     * The reason, in addition to those of {@link #refuse}, to refuse a request that would change something: it must name its origin, and have a
     * header that another site's script cannot send without asking first, which is not answered.
     */
    static Optional<String> refuseChange(HttpExchange exchange) {
        Headers headers = exchange.getRequestHeaders();
        boolean isOwn = headers.containsKey("Origin")
                && Objects.requireNonNullElse(headers.getFirst("Sec-Fetch-Site"), "same-origin")
                        .equals("same-origin")
                && headers.containsKey(CHANGE_HEADER);
        return isOwn ? Optional.empty() : Optional.of("only the page of the console can change something");
    }

    /** Whether a request follows a link to the page, which may be on any site; the token is still needed. */
    private boolean isLink(HttpExchange exchange) {
        return exchange.getRequestMethod().equals("GET")
                && exchange.getRequestURI().getPath().equals(root())
                && "navigate".equals(exchange.getRequestHeaders().getFirst("Sec-Fetch-Mode"));
    }

    boolean hasToken(HttpExchange exchange) {
        String query = exchange.getRequestURI().getRawQuery();
        return query != null
                && Arrays.stream(query.split("&"))
                        .filter(parameter -> parameter.startsWith("token="))
                        .anyMatch(parameter -> isSame(token, parameter.substring("token=".length())));
    }

    boolean hasCookie(HttpExchange exchange) {
        return exchange.getRequestHeaders().getOrDefault("Cookie", List.of()).stream()
                .flatMap(header -> Arrays.stream(header.split(";")))
                .map(RequestGuard::value)
                .anyMatch(sent -> sent != null && sent.getName().equals(cookie()) && isSame(session, sent.getValue()));
    }

    private static @Nullable HttpCookie value(String text) {
        int equals = text.indexOf('=');
        try {
            return equals < 0
                    ? null
                    : new HttpCookie(
                            text.substring(0, equals).strip(),
                            text.substring(equals + 1).strip());
        } catch (IllegalArgumentException e) {
            return null; // Of another program, and without a valid name.
        }
    }

    /** Compares in constant time. */
    private static boolean isSame(String expected, String given) {
        return MessageDigest.isEqual(expected.getBytes(US_ASCII), given.getBytes(US_ASCII));
    }
}
