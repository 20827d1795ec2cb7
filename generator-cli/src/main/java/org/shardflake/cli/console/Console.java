/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;
import org.shardflake.cli.output.JsonWriter;
import org.shardflake.cli.watch.MetricsPage;
import org.shardflake.cli.watch.WebServer;
import org.shardflake.watch.InstallationSnapshot;
import org.shardflake.watch.Watch;

/**
 * A web page that shows what servers, shards and moves are doing; it does work only while someone views it. Changes nothing, unless it has an
 * {@link Operator}. Serves {@code /metrics} as well.
 *
 * <p>The page is the same for everybody; what it shows comes as JSON over one stream of events, and is put into the page as text.
 */
public final class Console implements AutoCloseable {

    /** The maximum number of open pages. */
    private static final int STREAMS = 16;

    /** The number of requests allowed in addition to the event streams. */
    private static final int OTHERS = 4;

    /** The duration of an event stream, shorter than the limit on an answer; the page then reconnects. */
    private static final Duration STREAM = Duration.ofSeconds(20);

    private static final Duration HEARTBEAT = Duration.ofSeconds(5);

    /** The minimum time between two runs of doctor when alerts change. */
    private static final Duration SETTLED = Duration.ofSeconds(10);

    /** The time between snapshots while no page is open, so that the charts of a newly opened page are not empty. */
    private static final Duration UNSEEN = Duration.ofMinutes(1);

    private static final String JSON = "application/json";

    private static final Map<String, String> FILES = Map.of(
            "/", "text/html; charset=utf-8",
            "/console.css", "text/css; charset=utf-8",
            "/console.js", "text/javascript; charset=utf-8",
            "/curves.js", "text/javascript; charset=utf-8",
            "/icon.svg", "image/svg+xml",
            "/uplot.css", "text/css; charset=utf-8",
            "/uplot.js", "text/javascript; charset=utf-8");

    /** The files of the library that draws charts, whose licence is in its jar. */
    private static final Map<String, String> LIBRARY =
            Map.of("/uplot.css", "uPlot.min.css", "/uplot.js", "uPlot.iife.min.js");

    private static final String LIBRARY_PATH = "/META-INF/resources/webjars/uplot/1.6.30/dist/";

    private static final Map<String, String> HEADERS = Map.of(
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "X-Content-Type-Options",
            "nosniff",
            "X-Frame-Options",
            "DENY",
            "Referrer-Policy",
            "no-referrer",
            "Cross-Origin-Opener-Policy",
            "same-origin",
            "Cross-Origin-Resource-Policy",
            "same-origin",
            "Cache-Control",
            "no-store");

    private final WebServer server;
    private final RequestGuard door = new RequestGuard();
    private final Watch watch;
    private final Questions questions;
    private final MetricsPage metrics;
    private final Map<String, byte[]> files = new HashMap<>();
    private final PageState board = new PageState(Set.of("unsafe", "shards", "moves", "now"));
    private final Semaphore streams = new Semaphore(STREAMS);
    private final Rates rates = new Rates();
    private final Curves curves = new Curves();
    private final ActiveAlerts unsafe;
    private final @Nullable RunnableCommands offers;
    private final @Nullable Changes changes;
    private final ChangeRequests changeRequests;
    private final List<RepeatingTask> work;
    private final RepeatingTask examination;
    private final RepeatingTask comparison;
    private volatile @Nullable View view;
    private volatile List<Map<String, Object>> live = List.of();

    private Console(
            InetSocketAddress address,
            Watch watch,
            Questions questions,
            Optional<Operator> operator,
            int top,
            Consumer<String> told)
            throws IOException {
        this.watch = watch;
        this.questions = questions;
        this.metrics = new MetricsPage(watch, top, told);
        this.unsafe = new ActiveAlerts(questions);
        this.offers =
                operator.map(commands -> new RunnableCommands(commands::canRun)).orElse(null);
        this.changes = offers == null ? null : new Changes(offers, operator.get(), facts -> put("change", facts));
        this.changeRequests = new ChangeRequests(changes);
        FILES.keySet().forEach(path -> files.put(path, file(path)));
        CachedResult doctor = new CachedResult(this::findings, facts -> put("doctor", facts));
        CachedResult schemas = new CachedResult(questions::schemas, facts -> put("schemas", facts));
        this.examination = new RepeatingTask("doctor", board, Duration.ofMinutes(1), told, doctor::run);
        this.comparison = new RepeatingTask("schemas", board, Duration.ofMinutes(10), told, schemas::run);
        this.work = List.of(
                new RepeatingTask("looks", board, Duration.ofSeconds(1), told, this::look).alsoUnseen(UNSEEN),
                new RepeatingTask("history", board, Duration.ofSeconds(5), told, this::history),
                examination,
                comparison);
        this.server = WebServer.start(address, STREAMS + OTHERS, this::handle);
    }

    /**
     * Starts the console.
     *
     * @param address of localhost
     * @param watch who is asked; left open
     * @param operator runs what the page offers, if it may change something
     * @param top how many of the busiest and of the largest shards have metrics of their own
     * @param told who hears of what failed
     * @throws IOException if it cannot listen at the address
     */
    public static Console start(
            InetSocketAddress address,
            Watch watch,
            Questions questions,
            Optional<Operator> operator,
            int top,
            Consumer<String> told)
            throws IOException {
        Console console = new Console(address, watch, questions, operator, top, told);
        console.work.forEach(RepeatingTask::start);
        return console;
    }

    private static byte[] file(String path) {
        String library = LIBRARY.get(path);
        String resource =
                library != null ? LIBRARY_PATH + library : path.equals("/") ? "console.html" : path.substring(1);
        try (InputStream file = Objects.requireNonNull(Console.class.getResourceAsStream(resource), resource)) {
            return file.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The address that the console listens on. */
    public InetSocketAddress address() {
        return server.address();
    }

    /** The path for opening the page, with a token that works once; a secret. */
    public String entrance() {
        return "%s?token=%s".formatted(door.root(), door.token());
    }

    private void handle(HttpExchange exchange) throws IOException {
        Headers headers = exchange.getResponseHeaders();
        HEADERS.forEach(headers::set);
        Optional<String> refusal = door.refuse(exchange);
        String asked = exchange.getRequestURI().getPath();
        String path =
                asked.startsWith(door.root()) ? asked.substring(door.root().length() - 1) : "";
        if (refusal.isPresent()) {
            WebServer.say(exchange, 403, refusal.get());
        } else if (asked.equals(MetricsPage.PATH)) {
            metrics.handle(exchange);
        } else if (path.equals("/") && door.hasToken(exchange)) {
            headers.set("Set-Cookie", door.newCookie());
            read(exchange, path);
        } else if (path.isEmpty() || !door.hasCookie(exchange)) {
            WebServer.say(exchange, 403, "open the address that shardflake console printed: the token is in it");
        } else if (path.equals("/examine")) {
            hurry(exchange, examination);
        } else if (path.equals("/compare")) {
            hurry(exchange, comparison);
        } else if (ChangeRequests.isFor(path)) {
            changeRequests.handle(exchange, path);
        } else {
            read(exchange, path);
        }
    }

    private void read(HttpExchange exchange, String path) throws IOException {
        if (!WebServer.isRead(exchange)) {
            return;
        }
        byte[] file = files.get(path);
        if (file != null) {
            WebServer.answer(exchange, 200, Objects.requireNonNull(FILES.get(path)), file);
        } else if (path.equals("/events") && exchange.getRequestMethod().equals("GET")) {
            events(exchange);
        } else if (path.equals("/search")) {
            search(exchange);
        } else if (path.equals("/room")) {
            room(exchange);
        } else {
            WebServer.say(exchange, 404, "there is no such page");
        }
    }

    private static void hurry(HttpExchange exchange, RepeatingTask repeated) throws IOException {
        if (exchange.getRequestMethod().equals("POST")) {
            repeated.hurry(Duration.ZERO);
            WebServer.say(exchange, 202, "started");
        } else {
            exchange.getResponseHeaders().set("Allow", "POST");
            WebServer.say(exchange, 405, "only POST is allowed");
        }
    }

    private void search(HttpExchange exchange) throws IOException {
        String text = parameter(exchange, "q").strip();
        View now = view;
        if (text.isEmpty() || text.length() > Search.MOST_CHARACTERS) {
            WebServer.say(
                    exchange,
                    400,
                    "q has %s characters, allowed: 1..%s".formatted(text.length(), Search.MOST_CHARACTERS));
        } else if (now == null) {
            WebServer.say(exchange, 503, "there is no data yet; ask again");
        } else {
            String json = JsonWriter.write(new Search(now, questions).of(text));
            WebServer.answer(exchange, 200, JSON, json.getBytes(UTF_8));
        }
    }

    private static String parameter(HttpExchange exchange, String name) {
        String query = Objects.requireNonNullElse(exchange.getRequestURI().getRawQuery(), "");
        try {
            return Arrays.stream(query.split("&"))
                    .filter(parameter -> parameter.startsWith(name + "="))
                    .map(parameter -> URLDecoder.decode(parameter.substring(name.length() + 1), UTF_8))
                    .findFirst()
                    .orElse("");
        } catch (IllegalArgumentException e) {
            return ""; // No such encoding.
        }
    }

    /** Streams changes to the page until it has to reconnect. */
    private void events(HttpExchange exchange) throws IOException {
        if (!streams.tryAcquire()) {
            room(exchange);
            return;
        }
        board.arrive();
        try {
            exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
            exchange.sendResponseHeaders(200, 0);
            stream(exchange.getResponseBody());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // The console is ending.
        } finally {
            board.leave();
            streams.release();
        }
    }

    /** Tells a page without an event stream whether another page may be opened. */
    private void room(HttpExchange exchange) throws IOException {
        boolean isFull = streams.availablePermits() == 0;
        WebServer.say(
                exchange,
                isFull ? 503 : 200,
                isFull ? "%s pages are open, which is the maximum".formatted(STREAMS) : "there is room");
    }

    private void stream(OutputStream out) throws IOException, InterruptedException {
        Map<String, String> sent = new HashMap<>();
        long end = System.nanoTime() + STREAM.toNanos();
        out.write("retry: 250\n\n".getBytes(UTF_8));
        while (System.nanoTime() < end && !board.isClosed()) {
            out.flush();
            Map<String, String> news = board.news(sent, HEARTBEAT);
            StringBuilder text = new StringBuilder(news.isEmpty() ? ":\n\n" : "");
            news.forEach((part, json) -> text.append("event: ")
                    .append(part)
                    .append("\ndata: ")
                    .append(json)
                    .append("\n\n"));
            out.write(text.toString().getBytes(UTF_8));
            sent.putAll(news);
        }
        out.flush();
    }

    private void look() throws InterruptedException {
        InstallationSnapshot snapshot = watch.look();
        rates.add(snapshot);
        View now = new View(snapshot, rates.shards(), rates.servers());
        view = now;
        SnapshotJson facts = new SnapshotJson(now, questions);
        if (curves.add(snapshot)) {
            put("curves", curves.facts());
        }
        live = unsafe.of(snapshot);
        put("unsafe", live);
        if (unsafe.hasChanged()) {
            examination.hurry(SETTLED);
        }
        put("shards", facts.shards());
        List<Map<String, Object>> moves = facts.moves();
        put("moves", moves);
        offer("unsafe", live);
        offer("moves", moves);
        put("now", facts.now());
    }

    private void history() {
        try {
            put("history", questions.history());
        } catch (ShardflakeException e) {
            // That the catalog does not answer is among what is unsafe; the history stays what it was.
        }
    }

    private Map<String, Object> findings() throws InterruptedException {
        List<Map<String, Object>> before = live;
        List<Map<String, Object>> findings = questions.findings();
        offer("doctor", findings);
        // With what was unsafe when it began, since that may be told twice.
        return Map.of("findings", findings, "before", before);
    }

    private void offer(String part, List<Map<String, Object>> facts) {
        if (offers != null) {
            offers.show(part, RunnableCommands.in(facts));
            put("offers", offers.all());
        }
    }

    private void put(String part, Object facts) {
        board.put(part, JsonWriter.write(facts));
    }

    /** Stops the server and all background queries. */
    @Override
    public void close() {
        board.close();
        work.forEach(RepeatingTask::stop);
        server.close();
        changeRequests.close();
        if (changes != null) {
            changes.close();
        }
    }
}
