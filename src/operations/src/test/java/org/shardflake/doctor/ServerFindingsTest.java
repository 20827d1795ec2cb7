/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.server.ServerUrl;

/** Findings that a test cannot cause on a server that it shares with others. */
class ServerFindingsTest {

    private static final ShardMap MAP = ShardMap.initial(
            new Sharding(4),
            IdLayout.DEFAULT,
            List.of(new Server("db1", "postgresql://db1/app", Map.of())),
            Spread.CONTIGUOUS);

    private static List<String> findings(int version, long clockMillis, long doubtMillis) {
        ServerFacts facts = new ServerFacts(
                version,
                "1/2",
                Optional.empty(),
                "2026-11-23",
                clockMillis,
                doubtMillis,
                MAP.layout().epochMillis(),
                true,
                1,
                Map.of(),
                true,
                Map.of(),
                Map.of(),
                ShardSet.of(),
                ShardSet.of(),
                List.of(),
                List.of(),
                List.of(),
                List.of());
        DoctorConnections access = new DoctorConnections(ServerUrl.parse("postgresql://nowhere/app"), Map.of());
        return ServerFindings.of(
                        new ObservedState(
                                MAP,
                                MAP,
                                List.of(),
                                Set.of(),
                                Map.of(),
                                Map.of(),
                                List.of(),
                                Set.of(),
                                Map.of("db1", facts)),
                        access)
                .stream()
                .map(Finding::toString)
                .toList();
    }

    @Test
    void clocks() {
        assertThat(findings(15, 1900, 1000)).isEmpty();
        assertThat(findings(15, -600_000, 3))
                .containsExactly("warning: db1: clock: the clock is 600.0 s behind this machine's");
        assertThat(findings(15, 1002, 1))
                .containsExactly("warning: db1: clock: the clock is 1.0 s ahead of this machine's");
    }

    @Test
    void versions() {
        assertThat(findings(14, 0, 0)).containsExactly("problem: db1: server-version: has PostgreSQL 14");
    }
}
