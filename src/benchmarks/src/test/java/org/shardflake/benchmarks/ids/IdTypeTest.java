/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Instant;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.ids.IdCandidate.IdType;
import org.shardflake.scheme.GeneratorSettings;
import org.shardflake.scheme.IdGenerator;
import org.shardflake.scheme.Schemes;

class IdTypeTest {

    @Test
    void idsInBase62KeepTheir128Bits() throws SQLException {
        Instant now = Instant.ofEpochMilli(1_700_000_000_123L);
        GeneratorSettings settings =
                GeneratorSettings.DEFAULT.withClock(() -> now).withWorker(0xfedc_ba98_7654L);
        try (IdGenerator flake = Schemes.named("flake").generator(settings)) {
            flake.next();

            Object second = IdType.BASE62_UUID.value(flake.next());

            assertThat(second).isEqualTo(new UUID(1_700_000_000_123L, 0xfedc_ba98_7654_0002L));
        }
    }

    @Test
    void hexadecimalDigitsMayHaveTheTopBitSet() {
        assertThat(IdType.HEX_BIGINT.value("8000000000000001")).isEqualTo(Long.MIN_VALUE + 1);
        assertThat((byte[]) IdType.HEX_BYTEA.value("00ff10")).containsExactly(0, 0xff, 0x10);
    }

    @Test
    void arraysAreOfTheTypeOfTheirValues() {
        for (IdType type : IdType.values()) {
            Object[] array = type.array(1);
            array[0] = type.value(
                    switch (type) {
                        case UUID -> "00000000-0000-0000-0000-000000000001";
                        case BIGINT, BASE62_UUID -> "1";
                        case HEX_BIGINT -> "0000000000000001";
                        case HEX_BYTEA -> "01";
                    });
            assertThat(array.getClass().getComponentType()).isEqualTo(array[0].getClass());
        }
    }
}
