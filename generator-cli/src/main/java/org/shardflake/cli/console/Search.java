/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.shardflake.IdLayout;
import org.shardflake.ShardKey;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardflakeId;
import org.shardflake.move.Move;

/**
 * Finds what a text may stand for: a shard, a uid, an id in one of its forms, or a text key. A text key is the last reading, since any text may
 * be one.
 */
final class Search {

    /** The maximum length of a search; longer keys are never typed. */
    static final int MOST_CHARACTERS = 200;

    private static final Pattern SHARD = Pattern.compile("(?:shard[_ ]?)?0*([0-9]{1,4})");
    private static final Pattern NUMBER = Pattern.compile("-?[0-9]{1,20}");
    private static final Pattern UUIDS = Pattern.compile("(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}");
    private static final int BUSIEST = 3;

    /** The time by which a server's clock may be ahead of this machine's. */
    private static final Duration AHEAD = Duration.ofDays(1);

    private final View view;
    private final Questions questions;
    private final List<Map<String, @Nullable Object>> readings = new ArrayList<>();

    Search(View view, Questions questions) {
        this.view = view;
        this.questions = questions;
    }

    List<Map<String, @Nullable Object>> of(String text) {
        boolean isNumber = NUMBER.matcher(text).matches();
        var number = SHARD.matcher(text);
        if (number.matches()) {
            int shard = Integer.parseInt(number.group(1));
            if (shard < view.shardCount()) {
                add("shard", shard, CliCommand.MAP_LOCATE_SHARD.with(shard));
            }
        }
        if (isNumber) {
            id("id", () -> ShardflakeId.parse(text));
            uid(text);
        } else {
            id("id in base32", () -> ShardflakeId.parseBase32(text));
            id("id as a shortcode", () -> ShardflakeId.parseShortcode(text));
            questions.publicIds().ifPresent(ids -> id("public id", () -> ids.decode(text)));
            if (UUIDS.matcher(text).matches()) {
                add("UUID as a uid", shard(ShardKey.uid(UUID.fromString(text))), null);
            }
        }
        boolean isName = number.matches() && !isNumber;
        if (!isName) {
            add("text key", shard(ShardKey.uid(text)), CliCommand.MAP_LOCATE_KEY.with(text));
        }
        return readings;
    }

    private int shard(ShardKey key) {
        return view.snapshot().map().shard(key);
    }

    private void uid(String text) {
        try {
            long uid = Long.parseLong(text);
            add("uid", shard(ShardKey.uid(uid)), CliCommand.MAP_LOCATE_UID.with(uid));
        } catch (NumberFormatException e) {
            // Beyond 64 bits, or unsigned.
        }
    }

    /** Adds an id if its shard exists and its time is after the epoch and not in the future; almost any text would decode to something. */
    private void id(String as, Supplier<ShardflakeId> parse) {
        ShardflakeId id;
        try {
            id = parse.get();
        } catch (IllegalArgumentException e) {
            return;
        }
        IdLayout layout = view.snapshot().map().layout();
        Instant time = id.time(layout);
        boolean isPlausible = id.shard() < view.shardCount()
                && id.elapsedMillis() > 0
                && time.isBefore(view.snapshot().at().plus(AHEAD));
        if (!isPlausible) {
            return;
        }
        Map<String, @Nullable Object> facts = add(as, id.shard(), CliCommand.ID_DECODE.with(id));
        facts.put("id", id.toString());
        facts.put("time", time.toString());
        facts.put("sequence", id.sequence());
        if (id.value() >= 0) {
            facts.put("base32", id.toBase32());
            facts.put("shortcode", id.toShortcode());
        }
    }

    private Map<String, @Nullable Object> add(String as, int shard, @Nullable CliCommand command) {
        Map<String, @Nullable Object> facts = new LinkedHashMap<>();
        facts.put("as", as);
        facts.putAll(place(shard));
        facts.put("command", command == null ? null : questions.command(command));
        readings.add(facts);
        return facts;
    }

    private Map<String, @Nullable Object> place(int shard) {
        ShardPlacement placement = view.snapshot().map().placement(shard);
        Map<String, @Nullable Object> facts = new LinkedHashMap<>();
        facts.put("shard", shard);
        facts.put("schema", placement.schema());
        facts.put("server", placement.server().name());
        facts.put("state", view.snapshot().state(shard).toString());
        facts.put("inOldDatabase", view.snapshot().inOldDatabase().contains(shard));
        facts.put("epoch", placement.epoch());
        view.bytes(shard).ifPresent(bytes -> facts.put("bytes", bytes));
        view.shard(shard).ifPresent(found -> facts.put("rows", found.load().live()));
        view.rate(shard).ifPresent(rate -> {
            facts.put("written", SnapshotJson.tenth(rate.written()));
            facts.put("read", SnapshotJson.tenth(rate.read()));
        });
        Optional<Move> move = view.snapshot().moves().stream()
                .filter(each -> each.shardSet().contains(shard))
                .findFirst();
        move.ifPresent(its -> facts.put("move", its.id()));
        facts.put("neighbours", neighbours(shard));
        return facts;
    }

    /** The shards before and after a shard, and the busiest shards of its server. */
    private List<Map<String, @Nullable Object>> neighbours(int shard) {
        List<Map<String, @Nullable Object>> neighbours = new ArrayList<>();
        if (shard > 0) {
            neighbours.add(neighbour("before", shard - 1));
        }
        if (shard < view.shardCount() - 1) {
            neighbours.add(neighbour("after", shard + 1));
        }
        view.snapshot().map().shards(view.snapshot().map().server(shard)).stream()
                .boxed()
                .filter(other -> other != shard && load(other) > 0)
                .sorted(Comparator.comparingDouble((Integer other) -> -load(other)))
                .limit(BUSIEST)
                .forEach(other -> neighbours.add(neighbour("busy on the same server", other)));
        return neighbours;
    }

    private Map<String, @Nullable Object> neighbour(String what, int shard) {
        Map<String, @Nullable Object> facts = new LinkedHashMap<>();
        facts.put("what", what);
        facts.put("shard", shard);
        facts.put("server", view.snapshot().map().server(shard).name());
        facts.put("rate", view.rate(shard).isPresent() ? SnapshotJson.tenth(load(shard)) : null);
        return facts;
    }

    private double load(int shard) {
        return view.rate(shard).map(rate -> rate.written() + rate.read()).orElse(0.0);
    }
}
