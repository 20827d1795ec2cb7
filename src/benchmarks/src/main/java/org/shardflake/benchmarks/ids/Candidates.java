/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.shardflake.benchmarks.ids.IdCandidate.DatabaseCandidate;
import org.shardflake.benchmarks.ids.IdCandidate.IdType;
import org.shardflake.benchmarks.ids.IdCandidate.JavaCandidate;
import org.shardflake.benchmarks.ids.IdCandidate.JavaCandidate.Pace;
import org.shardflake.benchmarks.ids.Servers.PublishedFunction;
import org.shardflake.scheme.GeneratorSettings;
import org.shardflake.scheme.Scheme;
import org.shardflake.scheme.SchemeDescription;
import org.shardflake.scheme.Schemes;
import org.shardflake.scheme.UniqueIdMode;

/** All that take part. */
final class Candidates {

    static final String SHARDFLAKE = "shardflake";
    static final String SERIAL = "serial";
    static final String UUIDV7 = "uuidv7";
    static final String INSTAGRAM = "instagram";

    private Candidates() {}

    /** Every scheme, Shardflake first; one of them in its two forms. */
    static List<IdCandidate> all() {
        return Schemes.all().stream().flatMap(Candidates::of).toList();
    }

    private static Stream<IdCandidate> of(Scheme scheme) {
        SchemeDescription facts = scheme.description();
        return switch (facts.name()) {
            case SHARDFLAKE ->
                Stream.of(new DatabaseCandidate(
                        facts,
                        "shard_0007",
                        IdType.BIGINT,
                        List.of("SELECT shardflake.add_id_sequence('shard_0007.item')"),
                        "shard_0007.next_id('shard_0007.item_id_seq')"));
            case SERIAL ->
                Stream.of(new DatabaseCandidate(
                        facts,
                        "bench_serial",
                        IdType.BIGINT,
                        List.of("CREATE SEQUENCE bench_serial.item_id_seq OWNED BY bench_serial.item.id"),
                        "nextval('bench_serial.item_id_seq')"));
            case "uuidv4" ->
                Stream.of(new DatabaseCandidate(facts, "bench_uuidv4", IdType.UUID, List.of(), "uuidv4()"));
            case UUIDV7 -> Stream.of(new DatabaseCandidate(facts, "bench_uuidv7", IdType.UUID, List.of(), "uuidv7()"));
            case INSTAGRAM ->
                Stream.of(new DatabaseCandidate(
                        facts, "bench_instagram", IdType.BIGINT, List.of(), PublishedFunction.CALL));
            case "objectid" -> Stream.of(inJava(scheme, IdType.HEX_BYTEA, Pace.FULL));
            case "flake" -> Stream.of(numberedByHardware(scheme, IdType.BASE62_UUID));
            case "snowflake-java" -> Stream.of(numberedByHardware(scheme, IdType.BIGINT));
            case "uniqueid" -> Stream.of(inJava(scheme, IdType.HEX_BIGINT, Pace.BOUNDED), sequential(scheme));
            case "simpleflake" -> Stream.of(inJava(scheme, IdType.BIGINT, Pace.BY_CHANCE));
            case "tickets" -> Stream.of(inJava(scheme, IdType.BIGINT, Pace.TICKETS));
            case "snowflake", "traceid", "decimalid" -> Stream.of(inJava(scheme, IdType.BIGINT, Pace.FULL));
            default ->
                throw new IllegalStateException("scheme %s is new: say how it takes part".formatted(facts.name()));
        };
    }

    private static IdCandidate inJava(Scheme scheme, IdType type, Pace pace) {
        return new JavaCandidate(scheme.description(), scheme, type, UnaryOperator.identity(), pace, false);
    }

    private static IdCandidate numberedByHardware(Scheme scheme, IdType type) {
        return new JavaCandidate(scheme.description(), scheme, type, UnaryOperator.identity(), Pace.FULL, true);
    }

    /** Described apart, since ids of this form sort by time. */
    private static IdCandidate sequential(Scheme scheme) {
        SchemeDescription facts = scheme.description();
        SchemeDescription sequential = new SchemeDescription(
                "uniqueid, sequential",
                facts.title() + ", TIME_SEQUENTIAL",
                facts.layout(),
                facts.source(),
                facts.bits(),
                true,
                facts.shardInside(),
                facts.nodeIds(),
                facts.coordinator(),
                facts.networkCall(),
                facts.clockStep());
        UnaryOperator<GeneratorSettings> variant = settings -> settings.withMode(UniqueIdMode.TIME_SEQUENTIAL);
        return new JavaCandidate(sequential, scheme, IdType.HEX_BIGINT, variant, Pace.BOUNDED, false);
    }
}
