/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Ids that were published, with what was said or computed to be in them. */
class SchemeDecodeTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "shardflake | 11637205501278089 | time=2025-01-17T01:21:03Z, shard=1341, sequence=905",
                "serial | 31341 | number=31341",
                "tickets | 31341 | number=31341, server=1",
                "tickets | 31342 | number=31342, server=2",
                "uuidv4 | 919108f7-52d1-4320-9bac-f847db4148a8 | random=919108f752d13201bacf847db4148a8",
                "uuidv7 | 017F22E2-79B0-7CC3-98C4-DC0C0C07398F | time=2022-02-22T19:22:22Z, fraction=3267, random=18c4dc0c0c07398f",
                "uuidv7 | 017f22e279b07cc398c4dc0c0c07398f | time=2022-02-22T19:22:22Z, fraction=3267, random=18c4dc0c0c07398f",
                "objectid | 507c7f79bcf86cd7994f6c0e | time=2012-10-15T21:26:17Z, process=bcf86cd799, counter=5205006",
                "objectid | 507f1f77bcf86cd799439011 | time=2012-10-17T21:13:27Z, process=bcf86cd799, counter=4427793",
                "objectid | 80000000bcf86cd799439011 | time=2038-01-19T03:14:08Z, process=bcf86cd799, counter=4427793",
                "objectid | ffffffffbcf86cd799439011 | time=2106-02-07T06:28:15Z, process=bcf86cd799, counter=4427793",
                "snowflake | 1541815603606036480 | time=2022-06-28T16:07:40.105Z, dataCenter=11, worker=26, sequence=0",
                "snowflake-java | 454947766275222906 | time=2018-06-09T10:00:00Z, node=786, sequence=3450",
                "snowflake-java | 454947766275219456 | time=2018-06-09T10:00:00Z, node=786, sequence=0",
                "flake | 00000134d4212d43109add5e0e8f0000 | time=2012-01-12T22:54:31.235Z, worker=10:9a:dd:5e:0e:8f, sequence=0",
                "flake | 8HFaR8qWtRlGDHnO57 | time=2012-01-12T22:56:53.776Z, worker=10:9a:dd:5e:0e:8f, sequence=5",
                "flake | 8HFaR8qWtRlGDHnO56 | time=2012-01-12T22:56:53.776Z, worker=10:9a:dd:5e:0e:8f, sequence=4",
                "simpleflake | 0 | time=2000-01-01T05:00:00Z, random=0",
                "simpleflake | 8388607 | time=2000-01-01T05:00:00Z, random=8388607",
                "simpleflake | 8388608 | time=2000-01-01T05:00:00.001Z, random=0",
                "simpleflake | 9223372036854775807 | time=2034-11-04T00:53:47.775Z, random=8388607",
                "instagram | 908540701891980503 | time=2015-01-29T10:15:13.321Z, shard=4187, sequence=215",
                "instagram | ybyPRoQWzX | time=2015-01-29T10:15:13.321Z, shard=4187, sequence=215",
                "instagram | 1671372309237077023 | time=2017-12-16T22:25:27.280Z, shard=5, sequence=31",
                "instagram | 11637205501278089 | time=2011-09-09T22:28:04.721Z, shard=1341, sequence=905",
                "instagram | pV_oMFPeJ | time=2011-09-09T22:28:04.721Z, shard=1341, sequence=905",
                "instagram | 9223372036854775807 | time=2046-06-27T17:00:49.496Z, shard=8191, sequence=1023",
                "uniqueid | cb54ecf284000000 | time=1974-07-14T19:42:16.275Z, sequence=0, mode=SPREAD, generator=0, cluster=0",
                "uniqueid | bfffffffc0000000 | time=1970-07-18T20:11:09.181Z, sequence=0, mode=SPREAD, generator=0, cluster=0",
                "uniqueid | ffffffffffff0fff | time=2109-05-15T07:35:11.103Z, sequence=63, mode=SPREAD, generator=255, cluster=15",
                "uniqueid | ffffffffffffefff | time=2109-05-15T07:35:11.103Z, sequence=63, mode=SPREAD, generator=2047, cluster=15",
                "uniqueid | 0000000000001270 | time=1970-01-01T00:00:00Z, sequence=0, mode=TIME_SEQUENTIAL, generator=39, cluster=0",
                "decimalid | 14150009200065 | counter=1415, generator=92, launch=65"
            })
    void readsPublishedIds(String scheme, String id, String fields) {
        assertThat(fields(Schemes.named(scheme).decode(id))).isEqualTo(fields);
    }

    private static String fields(ExplainedId id) {
        return id.fields().toString().replaceAll("[{}]", "");
    }

    @Test
    void traceIdHasTheLatestTimeThatFits() {
        long seconds = Instant.parse("2026-11-21T10:00:00Z").getEpochSecond();
        String id = Long.toString(TraceIdScheme.encode(seconds, 65_535, 4095, 1));

        assertThat(fields(new TraceIdScheme(new StepClock(seconds * 1000)).decode(id)))
                .isEqualTo("time=2026-11-21T10:00:00Z, seconds=%s, node=65535, chunk=4095, counter=1"
                        .formatted(seconds & 33_554_431));
        assertThat(new TraceIdScheme(new StepClock(seconds * 1000 - 1))
                        .decode(id)
                        .time())
                .contains(Instant.parse("2026-11-21T10:00:00Z").minusSeconds(33_554_432));
    }

    @Test
    void traceIdsNodeIsNotInTheWayOfTheCounter() {
        // Shifted by 18 it would be.
        assertThat(TraceIdScheme.encode(1, 1, 0, 1)).isEqualTo((1L << 38) + (1L << 22) + 1);
        assertThat(TraceIdScheme.encode(0, 0, 4095, 1023)).isEqualTo((1L << 22) - 1);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "serial | 0 | sequences count from 1 unless told otherwise",
                "snowflake | -1 | the sign bit is set, which the scheme leaves zero",
                "simpleflake | 9223372036854775808 | the top bit is set: in a bigint it is negative and sorts before older ids",
                "instagram | -8388608 | the top bit is set: in a bigint it is negative and sorts before older ids",
                "uniqueid | ffffffffffffefff | a generator above 255 needs a release with 11 bits for it",
                "decimalid | 10000100000 | launch 0 is for tests",
                "decimalid | 5 | counters begin at 1",
                "decimalid | 9007200000100001 | beyond 2^53 - 1, where JavaScript rounds",
                "shardflake | -1 | the top bit is set, which ids of Shardflake never have"
            })
    void warnsOfWhatTheSchemeDoesNotMake(String scheme, String id, String warning) {
        assertThat(Schemes.named(scheme).decode(id).warnings()).containsExactly(warning);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "snowflake | x1 | \"x1\" is not an id: character 1 is not a digit; ids of snowflake are decimal numbers",
                "decimalid | 18446744073709551616 | \"18446744073709551616\" is not an id: it is out of range"
                        + " -9223372036854775808..18446744073709551615; ids of decimalid are decimal numbers",
                "uuidv4 | 5 | \"5\" is not an id of uuidv4: it has 1 characters; ids of uuidv4 are UUIDs of version 4",
                "uuidv4 | 017f22e2-79b0-7cc3-98c4-dc0c0c07398f | \"017f22e2-79b0-7cc3-98c4-dc0c0c07398f\" is not an id of"
                        + " uuidv4: it is of version 7; ids of uuidv4 are UUIDs of version 4",
                "uuidv7 | 017f22e2-79b0-7cc3-18c4-dc0c0c07398f | \"017f22e2-79b0-7cc3-18c4-dc0c0c07398f\" is not an id of"
                        + " uuidv7: it is not of the variant of RFC 9562; ids of uuidv7 are UUIDs of version 7",
                "uuidv7 | 017f22e2x79b0-7cc3-98c4-dc0c0c07398f | \"017f22e2x79b0-7cc3-98c4-dc0c0c07398f\" is not an id of"
                        + " uuidv7: character 9 is not a hyphen; ids of uuidv7 are UUIDs of version 7",
                "uuidv7 | 017f22e2-79b0-7cc3-98c4-dc0c0c07398g | \"017f22e2-79b0-7cc3-98c4-dc0c0c07398g\" is not an id of"
                        + " uuidv7: it has other characters than hexadecimal digits; ids of uuidv7 are UUIDs of version 7",
                "uuidv7 | +17f22e2-79b0-7cc3-98c4-dc0c0c07398f | \"+17f22e2-79b0-7cc3-98c4-dc0c0c07398f\" is not an id of"
                        + " uuidv7: it has other characters than hexadecimal digits; ids of uuidv7 are UUIDs of version 7",
                "objectid | 507c7f79bcf86cd7994f6c0 | \"507c7f79bcf86cd7994f6c0\" is not an id of objectid: it has 23"
                        + " characters; ids of objectid are 24 hexadecimal digits",
                "objectid | 507c7f79bcf86cd7994f6c0z | \"507c7f79bcf86cd7994f6c0z\" is not an id of objectid: character 24"
                        + " is not a hexadecimal digit; ids of objectid are 24 hexadecimal digits",
                "flake | 8HFa-8 | \"8HFa-8\" is not an id of flake: character 5 is neither letter nor digit; ids of flake"
                        + " are 32 hexadecimal digits, or up to 22 of 0-9, A-Z and a-z",
                "flake | zzzzzzzzzzzzzzzzzzzzzz | \"zzzzzzzzzzzzzzzzzzzzzz\" is not an id of flake: it has more than 128"
                        + " bits; ids of flake are 32 hexadecimal digits, or up to 22 of 0-9, A-Z and a-z",
                "flake | ffffffffffffffffffffffffffffffff | \"ffffffffffffffffffffffffffffffff\" is not an id of flake: its"
                        + " time is after the year 9999; ids of flake are 32 hexadecimal digits, or up to 22 of 0-9, A-Z and a-z",
                "uniqueid | cb54 | \"cb54\" is not an id of uniqueid: it has 4 characters; ids of uniqueid are 16"
                        + " hexadecimal digits"
            })
    void saysWhatIsWrongAndWhatWasExpected(String scheme, String id, String message) {
        assertThatThrownBy(() -> Schemes.named(scheme).decode(id))
                .isInstanceOfSatisfying(MalformedIdException.class, e -> {
                    assertThat(e).hasMessage(message);
                    assertThat(e.scheme()).isEqualTo(scheme);
                });
    }

    @Test
    void takesAnotherEpoch() {
        Scheme scheme = Schemes.named("instagram").withEpoch(Instant.parse("2025-01-01T00:00:00Z"));

        assertThat(scheme.decode("11637205501278089").time()).contains(Instant.parse("2025-01-17T01:21:03Z"));
        assertThatThrownBy(() -> Schemes.named("uuidv7").withEpoch(Instant.EPOCH))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("scheme uuidv7 has no epoch to choose");
    }
}
