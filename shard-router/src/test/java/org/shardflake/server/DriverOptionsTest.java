/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.postgresql.PGProperty;

/** Asks the driver for its options, so that a new one that loads a class or writes a file fails here. */
class DriverOptionsTest {

    private static final Pattern LOADS_OR_WRITES =
            Pattern.compile("class|factory|verifier|callback|executor|plugin|logger", Pattern.CASE_INSENSITIVE);

    /** A name of Windows' security service. */
    private static final List<PGProperty> HARMLESS = List.of(PGProperty.SSPI_SERVICE_CLASS);

    @Test
    void eachOptionThatLoadsAClassOrWritesAFileIsRefusedInBothForms() {
        List<PGProperty> options = Arrays.stream(PGProperty.values())
                .filter(option -> LOADS_OR_WRITES.matcher(option.getName()).find())
                .filter(option -> !HARMLESS.contains(option))
                .toList();

        assertThat(options).hasSizeGreaterThan(10);
        for (PGProperty option : options) {
            String parameter = option.getName() + "=org.shardflake.Evil";
            for (String url : List.of("postgresql://db1/app?", "jdbc:postgresql://db1/app?")) {
                assertThatIllegalArgumentException()
                        .as(url + parameter)
                        .isThrownBy(() -> ServerUrl.parse(url + parameter, Map.of()))
                        .withMessageContaining(option.getName())
                        .withMessageContaining("leave it out");
            }
        }
    }

    @Test
    void aClassThatTheProcessAllowsIsTaken() {
        String url = "postgresql://db1/app?socketFactory=org.example.Tunnel&socketFactoryArg=7";
        System.setProperty(DriverOptions.ALLOWED_CLASSES, "org.example.Other, org.example.Tunnel");
        try {
            assertThat(ServerUrl.parse(url, Map.of()).dataSource().getSocketFactory())
                    .isEqualTo("org.example.Tunnel");
        } finally {
            System.clearProperty(DriverOptions.ALLOWED_CLASSES);
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ServerUrl.parse(url, Map.of()))
                .withMessageContaining("-Dshardflake.driver.classes=org.example.Tunnel");
    }
}
