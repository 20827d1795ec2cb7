/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.restorepoint;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.restore.RestorePoint;
import org.shardflake.restore.RestorePoint.Place;

/** Shows restore points, as facts and as tables. */
final class RestorePointView {

    private RestorePointView() {}

    static Map<String, Object> facts(RestorePoint point) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("name", point.name());
        facts.put("complete", point.isComplete());
        facts.put("time", point.begunAt().toString());
        facts.put("mapVersion", point.mapVersion());
        facts.put("placements", point.placements());
        facts.put(
                "servers", point.places().stream().map(RestorePointView::facts).toList());
        return facts;
    }

    private static Map<String, Object> facts(Place place) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("server", place.server());
        facts.put("timeline", place.timeline());
        facts.put("lsn", place.lsn());
        facts.put("walFile", place.walFile());
        facts.put("time", place.madeAt().toString());
        facts.put("systemIdentifier", place.identity());
        return facts;
    }

    /** The servers of a restore point, with the point's position on each. */
    static String places(RestorePoint point) {
        TableWriter table = new TableWriter("SERVER", "LSN", "WAL FILE", "TIME");
        for (Place place : point.places()) {
            table.row(place.server(), place.lsn(), place.walFile(), seconds(place.madeAt()));
        }
        return table.toString();
    }

    static String table(List<RestorePoint> points) {
        TableWriter table = new TableWriter("NAME", "TIME", "MAP", "SERVERS", "STATE").mayLeaveOut("MAP", "SERVERS");
        for (RestorePoint point : points) {
            long servers =
                    point.places().stream().filter(place -> !place.isCatalog()).count();
            table.row(
                    point.name(),
                    seconds(point.begunAt()),
                    point.mapVersion(),
                    servers,
                    point.isComplete() ? "complete" : "incomplete");
        }
        return table.toString();
    }

    private static Instant seconds(Instant time) {
        return time.truncatedTo(ChronoUnit.SECONDS);
    }
}
