/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;

class SchemesTest {

    private static final Instant NOW = Instant.parse("2026-11-21T10:00:00Z");

    @SuppressWarnings("UnusedVariable") // a FieldSource
    private static final List<Scheme> SCHEMES = Schemes.all();

    @Test
    void namesThoseThereAreWhereOneIsNot() {
        assertThatThrownBy(() -> Schemes.named("ulid"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "'ulid' is not a scheme; there are shardflake, serial, tickets, uuidv4, uuidv7, objectid, snowflake,"
                                + " snowflake-java, flake, simpleflake, instagram, uniqueid, traceid, decimalid");
    }

    @ParameterizedTest
    @FieldSource("SCHEMES")
    void describesItself(Scheme scheme) {
        assertThat(Schemes.named(scheme.name())).isSameAs(scheme);
        assertThat(scheme.description().title()).isNotBlank();
        assertThat(scheme.description().layout()).isNotBlank();
        assertThat(scheme.description().source()).isNotBlank();
        assertThat(scheme.description().bits()).isIn(64, 96, 128);
    }

    @ParameterizedTest
    @CsvSource({
        "31341, serial",
        "499335931086511104, shardflake",
        "1541815603606036480, snowflake",
        "14150009200065, decimalid",
        "919108f7-52d1-4320-9bac-f847db4148a8, uuidv4",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f, uuidv7",
        "507f1f77bcf86cd799439011, objectid",
        "00000134d4212d43109add5e0e8f0000, flake",
        "8HFaR8qWtRlGDHnO57, flake",
        "ybyPRoQWzX, instagram"
    })
    void ranksTheSchemeOfAPublishedIdFirst(String id, String scheme) {
        assertThat(Schemes.rank(id, NOW).get(0).scheme().name()).isEqualTo(scheme);
    }

    @Test
    void ranksByPlausibilityWithTheReason() {
        assertThat(Schemes.rank("1541815603606036480", NOW))
                .extracting(guess -> "%s %s: %s"
                        .formatted(guess.plausibility(), guess.scheme().name(), guess.reason()))
                .containsExactly(
                        "75 snowflake: its time 2022-06-28T16:07:40Z is likely, and its sequence is 0, as most are",
                        "70 snowflake-java: its time 2026-08-25T14:24:45Z is likely, and its sequence is 0, as most are",
                        "55 instagram: its time 2017-06-21T04:19:24Z is likely",
                        "5 decimalid: generator and launch are large numbers",
                        "3 shardflake: its time 2030-10-29T07:12:22Z has not come yet",
                        "3 simpleflake: its time 2005-10-28T12:12:22Z is before there were such ids",
                        "2 serial: too large for a count",
                        "2 tickets: too large for a count");
    }

    @Test
    void knowsWhatCannotBeAnId() {
        assertThat(Schemes.rank("", NOW)).isEmpty();
        assertThat(Schemes.rank("not an id", NOW)).isEmpty();
        assertThat(Schemes.rank("-", NOW)).isEmpty();
    }

    @ParameterizedTest
    @FieldSource("SCHEMES")
    void guessesNothingThatItCannotDecode(Scheme scheme) {
        for (String id : List.of("0", "-1", "5", "zz", "9223372036854775807", "ffffffffffffffff", "0".repeat(32))) {
            scheme.guess(id, NOW).ifPresent(guess -> assertThat(guess.id()).isEqualTo(scheme.decode(id)));
        }
    }
}
