/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.net.NetworkInterface;
import java.net.SocketException;
import java.time.Instant;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Snowflake in Java with an epoch of 2015, whose nodes are numbered by their network hardware addresses.
 *
 * <p>The number is the hash of all addresses of a machine, in upper-case hexadecimal, modulo 1024: among 10 machines
 * two share a number with a probability of 4.3 %, and two processes on a machine always do. It refuses a clock behind
 * the last id; but while it waits for the next millisecond, after 4096 ids, it accepts any other, so a clock that goes
 * back just then is not noticed: ids can repeat. Worked example: 108468000000 ms, node 786, sequence 3450 gives
 * 454947766275222906; the often quoted 454947766275219456 omits the sequence. Sources: callicoder, <a
 * href="https://www.callicoder.com/distributed-unique-id-sequence-number-generator/">callicoder.com</a>, <a
 * href="https://github.com/callicoder/java-snowflake">github.com</a>.
 */
final class JavaSnowflakeScheme extends NumericScheme {

    static final JavaSnowflakeScheme PUBLISHED = new JavaSnowflakeScheme(1_420_070_400_000L);

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "snowflake-java",
            "Snowflake in Java, with nodes by hardware address",
            "1 zero | 41 milliseconds since 2015-01-01 | 10 node | 12 sequence",
            "https://github.com/callicoder/java-snowflake",
            64,
            true,
            false,
            true,
            false,
            false,
            ClockStep.REFUSES);

    private final SnowflakeLayout layout;

    private JavaSnowflakeScheme(long epochMillis) {
        this.layout = new SnowflakeLayout(epochMillis);
    }

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    public Scheme withEpoch(Instant epoch) {
        return new JavaSnowflakeScheme(epoch.toEpochMilli());
    }

    @Override
    ExplainedId explain(String text, long id) {
        return new Explanation(text)
                .time(layout.timeMillis(id))
                .field("node", SnowflakeLayout.node(id))
                .field("sequence", SnowflakeLayout.sequence(id))
                .warnIf(id < 0, "the sign bit is set, which the scheme leaves zero")
                .done();
    }

    @Override
    Optional<Guess> judge(ExplainedId explained, long id, Instant now) {
        return Optional.of(SnowflakeScheme.judge(this, explained, layout, id, now, 50));
    }

    @Override
    public LongIdGenerator generator(GeneratorSettings settings) {
        long node = settings.worker().orElseGet(() -> node(hardwareAddresses()));
        Worker worker = new Worker.Given(Worker.checkRange(node, 0, SnowflakeLayout.MAX_NODE));
        return new SnowflakeGenerator(
                name(), layout, worker, settings.clock(), SnowflakeGenerator.Wait.UNTIL_DIFFERENT);
    }

    /** The node number derived from a machine's hardware addresses. */
    static int node(List<byte[]> addresses) {
        StringBuilder text = new StringBuilder();
        addresses.forEach(address -> text.append(HexFormat.of().withUpperCase().formatHex(address)));
        return text.toString().hashCode() & SnowflakeLayout.MAX_NODE;
    }

    /** The hardware addresses of all interfaces that have one. */
    static List<byte[]> hardwareAddresses() {
        try {
            return Collections.list(NetworkInterface.getNetworkInterfaces()).stream()
                    .map(JavaSnowflakeScheme::hardwareAddress)
                    .flatMap(address -> Optional.ofNullable(address).stream())
                    .toList();
        } catch (SocketException e) {
            return List.of();
        }
    }

    private static byte @Nullable [] hardwareAddress(NetworkInterface network) {
        try {
            return network.getHardwareAddress();
        } catch (SocketException e) {
            return null;
        }
    }
}
