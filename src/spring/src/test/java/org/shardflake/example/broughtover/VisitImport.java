/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import java.time.LocalDate;
import java.util.List;
import java.util.stream.Collectors;
import org.shardflake.ShardKey;
import org.shardflake.spring.ShardTemplate;
import org.springframework.stereotype.Service;

@Service
public class VisitImport {

    public record Line(long ownerId, long petId, LocalDate date, String description) {}

    private final Owners owners;
    private final ShardTemplate shards;

    VisitImport(Owners owners, ShardTemplate shards) {
        this.owners = owners;
        this.shards = shards;
    }

    /** One transaction for each owner. */
    public void run(List<Line> lines) {
        lines.stream()
                .collect(Collectors.groupingBy(Line::ownerId))
                .forEach((ownerId, visits) -> shards.run(ShardKey.uid(ownerId), () -> add(ownerId, visits)));
    }

    private void add(long ownerId, List<Line> visits) {
        Owner owner = owners.findById(ownerId).orElseThrow();
        visits.forEach(visit -> owner.getPet(visit.petId()).addVisit(visit.date(), visit.description()));
    }
}
