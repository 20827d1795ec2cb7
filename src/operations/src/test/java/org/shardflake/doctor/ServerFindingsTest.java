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
import org.shardflake.load.MachineMemory;
import org.shardflake.load.SessionMemory;
import org.shardflake.server.ServerUrl;

/** Findings that a test cannot cause on a server that it shares with others. */
class ServerFindingsTest {

    private static final ShardMap MAP = ShardMap.initial(
            new Sharding(4),
            IdLayout.DEFAULT,
            List.of(new Server("db1", "postgresql://db1/app", Map.of())),
            Spread.CONTIGUOUS);

    private static final SessionMemory LITTLE = new SessionMemory(10, 1, 1);
    private static final MachineMemory MACHINE = new MachineMemory(8_000_000_000L, true);

    private static List<String> findings(int version, long clockMillis, long doubtMillis) {
        return findings(MAP, version, clockMillis, doubtMillis, LITTLE, MACHINE);
    }

    private static List<String> findings(
            ShardMap map,
            int version,
            long clockMillis,
            long doubtMillis,
            SessionMemory sessions,
            MachineMemory memory) {
        ServerFacts facts = new ServerFacts(
                version,
                "1/2",
                Optional.empty(),
                "2026-11-23",
                clockMillis,
                doubtMillis,
                map.layout().epochMillis(),
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
                List.of(),
                sessions,
                memory);
        DoctorConnections access =
                new DoctorConnections(ServerUrl.parse("postgresql://nowhere/app"), Map.of(), ServerUrl::parse);
        return ServerFindings.of(
                        new ObservedState(
                                map,
                                map,
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

    @Test
    void memoryOfSessions() {
        SessionMemory routers = new SessionMemory(100_000, 40, 1);

        assertThat(findings(MAP, 15, 0, 0, routers, MACHINE)).isEmpty();
        assertThat(findings(MAP, 15, 0, 0, new SessionMemory(100_000, 40, 2), MACHINE))
                .containsExactly(
                        "warning: db1: session-memory: 100,000 tables of shards and 40 sessions may come to take 7.7 GB of memory, more than half of the server's 8.0 GB");
        assertThat(findings(MAP, 15, 0, 0, new SessionMemory(100_000, 40, 2), new MachineMemory(5_000_000_000L, false)))
                .containsExactly(
                        "warning: db1: session-memory: 100,000 tables of shards and 40 sessions may come to take 7.7 GB of memory, more than half of the server's 5.0 GB (as its settings suggest; this role may not read it)");
    }

    /** Each session of a pooler comes to know all shards. */
    @Test
    void memoryOfPooledSessions() {
        ShardMap pooled = ShardMap.initial(
                new Sharding(4),
                IdLayout.DEFAULT,
                List.of(new Server("db1", "postgresql://db1/app", Optional.of("postgresql://pooler/app"), Map.of())),
                Spread.CONTIGUOUS);

        assertThat(findings(pooled, 15, 0, 0, new SessionMemory(100_000, 40, 1), MACHINE))
                .containsExactly(
                        "warning: db1: session-memory: 100,000 tables of shards and 40 sessions may come to take 152.1 GB of memory, more than half of the server's 8.0 GB");
    }
}
