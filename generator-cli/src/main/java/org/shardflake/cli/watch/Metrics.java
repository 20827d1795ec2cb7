/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.watch;

import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.SortedSet;
import java.util.function.ToDoubleFunction;
import org.shardflake.Server;
import org.shardflake.adopt.AdoptionStatus;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.load.RowCounts;
import org.shardflake.move.Move;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.ShardPhase;
import org.shardflake.move.StreamStatus;
import org.shardflake.sql.FunctionLibrary;
import org.shardflake.watch.InstallationSnapshot;
import org.shardflake.watch.ServerSnapshot;

/** Writes one snapshot of the installation as Prometheus metrics. Names of servers are in it, but no URLs. */
final class Metrics {

    private final InstallationSnapshot snapshot;
    private final Usage usage;
    private final List<Family> families = new ArrayList<>();

    private Metrics(InstallationSnapshot snapshot, Usage usage) {
        this.snapshot = snapshot;
        this.usage = usage;
    }

    /**
     * @param usage up to this look
     * @param top how many of the busiest and of the largest shards are told apart
     */
    static MetricSnapshots of(InstallationSnapshot snapshot, Usage usage, int top) {
        Metrics metrics = new Metrics(snapshot, usage);
        metrics.catalog();
        metrics.servers();
        metrics.load();
        metrics.shards(usage.top(snapshot, top));
        metrics.slots();
        if (snapshot.catalogAnswers()) {
            metrics.moves();
            metrics.streams();
            metrics.adoptions();
        }
        return new MetricSnapshots(metrics.families.stream().map(Family::build).toList());
    }

    private void catalog() {
        gauge("shardflake_catalog_up", "Whether the catalog answers; if not, the shard map is as it last was.")
                .add(truth(snapshot.catalogAnswers()));
        gauge(
                        "shardflake_catalog_standby",
                        "Whether only a standby of the catalog answers, which may be behind and takes no changes.")
                .add(truth(snapshot.catalogIsStandby()));
        gauge("shardflake_map_version", "Version of the shard map, which grows with each change.")
                .add(snapshot.map().version());
        gauge("shardflake_library_latest_version", "Version of the function library that this exporter knows.")
                .add(FunctionLibrary.version());
        Gauge point = gauge(
                "shardflake_restore_point_timestamp_seconds",
                "When the newest complete restore point was begun; absent if there is none.");
        snapshot.restorePoint().ifPresent(at -> point.add(seconds(at)));
    }

    private void servers() {
        Gauge up = gauge("shardflake_server_up", "Whether the server answers, and as a primary.");
        Gauge shards = gauge(
                "shardflake_server_shards",
                "Shards by state. Back are those that refuse writes since they have come back to an old database; misplaced are those of other servers that take writes here; unknown are those of a server that does not answer.");
        for (Server server : snapshot.map().servers()) {
            up.add(truth(snapshot.servers().containsKey(server.name())), "server", server.name());
            snapshot.shards(server)
                    .forEach((state, count) -> shards.add(count, "server", server.name(), "state", state.toString()));
        }
        each(
                "shardflake_server_look_duration_seconds",
                "How long the server took to answer the exporter.",
                seen -> seen.took().toNanos() / 1e9);
        each("shardflake_server_postgresql_version", "Major version of PostgreSQL.", ServerSnapshot::version);
        each(
                "shardflake_server_library_version",
                "Version of the function library on the server; 0 if it has none.",
                ServerSnapshot::libraryVersion);
        each(
                "shardflake_server_clock_difference_seconds",
                "Clock of the server minus that of the exporter.",
                seen -> seen.clockMillis() / 1000);
        each(
                "shardflake_server_sequences_ahead",
                "Sequences of ids that are more than a second ahead of the server's clock; 500 more are read at each scrape.",
                ServerSnapshot::sequencesAhead);
        each(
                "shardflake_server_sequence_ahead_seconds",
                "How far the first of them is ahead.",
                seen -> seen.aheadMillis() / 1000.0);
        each("shardflake_server_connections", "Sessions of any database of the server.", ServerSnapshot::connections);
        each("shardflake_server_max_connections", "Sessions that the server allows.", ServerSnapshot::maxConnections);
        each(
                "shardflake_server_tables",
                "Tables of all shards on the server.",
                seen -> seen.sessions().tables());
        Gauge sessions = gauge(
                "shardflake_server_session_memory_bytes",
                "Estimate of the memory that its sessions will use to cache the tables of shards.");
        snapshot.servers()
                .forEach((server, seen) -> sessions.add(
                        seen.sessions()
                                .bytes(snapshot.map()
                                        .server(server)
                                        .applicationUrl()
                                        .isPresent()),
                        "server",
                        server));
        each(
                "shardflake_server_memory_bytes",
                "Memory of the server's machine; what its settings suggest if the exporter's role may not read it.",
                seen -> seen.memory().bytes());
    }

    private void load() {
        each(
                "shardflake_server_bytes",
                "Tables of all shards on the server with their indexes, copies of moving shards included.",
                seen -> seen.shards().values().stream()
                        .mapToLong(shard -> shard.load().bytes())
                        .sum());
        each(
                "shardflake_server_rows",
                "Rows of all shards on the server, as PostgreSQL estimates them.",
                seen -> seen.shards().values().stream()
                        .mapToLong(shard -> shard.load().live())
                        .sum());
        Counter written = counter(
                "shardflake_server_rows_written",
                "Rows written to shards on the server since the exporter began, including those that a move brings; inserts are its ids.");
        Counter read = counter(
                "shardflake_server_rows_read",
                "Rows that scans read of shards on the server since the exporter began.");
        snapshot.servers().keySet().forEach(server -> {
            RowCounts rows = usage.of(server);
            written(written, rows, "server", server);
            read.add(rows.read(), "server", server);
        });
    }

    private void shards(SortedSet<Integer> top) {
        Gauge bytes = gauge(
                "shardflake_shard_bytes",
                "Tables of the shard with their indexes; only of the largest shards and of those used most.");
        Gauge rows = gauge("shardflake_shard_rows", "Rows of the shard, as PostgreSQL estimates them.");
        Counter written = counter(
                "shardflake_shard_rows_written",
                "Rows written to the shard on the server since the exporter began; inserts are its ids.");
        Counter read = counter(
                "shardflake_shard_rows_read",
                "Rows that scans read of the shard on the server since the exporter began.");
        for (int shard : top) {
            String server = snapshot.map().server(shard).name();
            ServerSnapshot seen = Objects.requireNonNull(snapshot.servers().get(server));
            ServerSnapshot.Load load =
                    Objects.requireNonNull(seen.shards().get(shard)).load();
            String number = String.valueOf(shard);
            if (load.tableBytes().isPresent()) {
                bytes.add(load.bytes(), "server", server, "shard", number);
            }
            rows.add(load.live(), "server", server, "shard", number);
            RowCounts sum = usage.of(server, shard);
            written(written, sum, "server", server, "shard", number);
            read.add(sum.read(), "server", server, "shard", number);
        }
    }

    private static void written(Counter written, RowCounts rows, String... labels) {
        Labels of = Labels.of(labels);
        written.add(rows.inserted(), of.add("operation", "insert"));
        written.add(rows.updated(), of.add("operation", "update"));
        written.add(rows.deleted(), of.add("operation", "delete"));
    }

    private void slots() {
        Gauge active = gauge("shardflake_slot_active", "Whether the replication slot has a receiver.");
        Gauge retained = gauge(
                "shardflake_slot_retained_bytes", "Write-ahead log that the server keeps for the replication slot.");
        Gauge lost = gauge("shardflake_slot_lost", "Whether log that the replication slot needs is gone.");
        Gauge lagBytes = gauge("shardflake_standby_lag_bytes", "Write-ahead log that the standby has not replayed.");
        Gauge lagSeconds = gauge(
                "shardflake_standby_lag_seconds",
                "The time that the standby took to replay the last change it received.");
        snapshot.servers().forEach((server, seen) -> {
            seen.slots().forEach(slot -> {
                active.add(truth(slot.isActive()), "server", server, "slot", slot.name());
                retained.add(slot.retainedBytes(), "server", server, "slot", slot.name());
                lost.add(truth(slot.isLost()), "server", server, "slot", slot.name());
            });
            seen.standbys().forEach(standby -> {
                String[] labels = {"server", server, "standby", standby.name(), "address", standby.address()};
                lagBytes.add(standby.lagBytes(), labels);
                lagSeconds.add(standby.lagMillis() / 1000.0, labels);
            });
        });
    }

    private void moves() {
        Gauge phase = gauge("shardflake_move_phase", "1 for the current phase of the move.");
        Gauge start = gauge("shardflake_move_start_timestamp_seconds", "When the move started.");
        Gauge phaseStart = gauge("shardflake_move_phase_start_timestamp_seconds", "When the move entered its phase.");
        Gauge shards = gauge("shardflake_move_shards", "Shards of the move by their phase.");
        Gauge problem = gauge("shardflake_move_problem", "Whether the last step of the move failed.");
        for (Move move : snapshot.moves()) {
            String id = String.valueOf(move.id());
            String[] labels = {"move", id, "source", move.source(), "target", move.target()};
            phase.add(
                    1,
                    Labels.of(labels)
                            .add("phase", move.phase().toString())
                            .add("shards", TableWriter.shorten(move.shardSet())));
            start.add(seconds(move.startedAt()), "move", id);
            phaseStart.add(seconds(move.phaseSince()), "move", id);
            for (ShardPhase each : ShardPhase.values()) {
                shards.add(move.shardSet(each).size(), "move", id, "phase", each.toString());
            }
            if (!snapshot.isComparing(move)) {
                problem.add(truth(!move.problem().isEmpty()), "move", id);
            }
        }
    }

    private void streams() {
        Gauge bytes = gauge("shardflake_move_bytes", "Tables of the move's shards on the source, without indexes.");
        Gauge copied = gauge("shardflake_move_copied_bytes", "How much of them is on the target.");
        Gauge end = gauge(
                "shardflake_move_copy_end_timestamp_seconds",
                "When the copy will be done at the pace so far; absent before and after.");
        Gauge running = gauge(
                "shardflake_move_stream_running",
                "Whether the subscriber of this direction is connected and receiving.");
        Gauge lagBytes = gauge(
                "shardflake_move_lag_bytes",
                "Write-ahead log that the subscriber of this direction has not confirmed.");
        Gauge lagSeconds = gauge(
                "shardflake_move_lag_seconds", "How long the subscriber took for the last change that it confirmed.");
        Counter errors = counter("shardflake_move_apply_errors", "How often the subscriber failed to apply a change.");
        for (Move move : snapshot.moves()) {
            String id = String.valueOf(move.id());
            snapshot.status(move).ifPresent(status -> {
                bytes.add(status.totalBytes(), "move", id);
                copied.add(status.copiedBytes(), "move", id);
                status.timeLeft(snapshot.at())
                        .ifPresent(left -> end.add(seconds(snapshot.at().plus(left)), "move", id));
                for (Map.Entry<String, StreamStatus> stream :
                        directions(move, status).entrySet()) {
                    String[] labels = {"move", id, "direction", stream.getKey()};
                    running.add(truth(stream.getValue().running()), labels);
                    lagBytes.add(stream.getValue().lagBytes(), labels);
                    snapshot.lagMillis(move, stream.getKey())
                            .ifPresent(millis -> lagSeconds.add(millis / 1000.0, labels));
                    errors.add(stream.getValue().applyErrors(), labels);
                }
            });
        }
    }

    private void adoptions() {
        Gauge state = gauge(
                "shardflake_adoption_state",
                "1 for the current state of the table's adoption; unknown if the old database does not say.");
        Gauge start = gauge("shardflake_adoption_start_timestamp_seconds", "When the adoption started.");
        Gauge copied = gauge("shardflake_adoption_copied_rows", "Rows of the table that have been copied.");
        Gauge changes = gauge(
                "shardflake_adoption_changes",
                "Changes of the old table that the shards lack; 1000000 if there are as many or more.");
        Gauge age =
                gauge("shardflake_adoption_change_age_seconds", "Age of the oldest of these changes; 0 without any.");
        Gauge running = gauge("shardflake_adoption_running", "Whether a command works on the adoption.");
        Gauge shards = gauge(
                "shardflake_adoption_shards",
                "Shards by their place: in the old database (never left it), back in it, or over.");
        for (AdoptionStatus status : snapshot.adoptions()) {
            String[] labels = {
                "adoption",
                status.adoption().id().toString(),
                "table",
                status.adoption().table()
            };
            String name = status.progress()
                    .map(progress -> progress.state().name().toLowerCase(Locale.ROOT))
                    .orElse("unknown");
            state.add(
                    1,
                    Labels.of(labels)
                            .add("state", name)
                            .add("into", status.adoption().into()));
            start.add(seconds(status.adoption().begunAt()), labels);
            status.progress().ifPresent(progress -> {
                copied.add(progress.copiedRows(), labels);
                changes.add(progress.changes(), labels);
                age.add(progress.age().toSeconds(), labels);
                running.add(truth(progress.isWorkedOn()), labels);
                progress.slices().ifPresent(slices -> {
                    int back = slices.back().size();
                    shards.add(
                            slices.remaining().size() - back, Labels.of(labels).add("place", "old"));
                    shards.add(back, Labels.of(labels).add("place", "back"));
                    shards.add(slices.over().size(), Labels.of(labels).add("place", "over"));
                });
            });
        }
    }

    /** The status of both streams; the reverse one is stopped on purpose during the last comparison. */
    private Map<String, StreamStatus> directions(Move move, MoveStatus status) {
        if (snapshot.isComparing(move)) {
            return Map.of("forward", status.forward());
        }
        return Map.of("forward", status.forward(), "reverse", status.reverse());
    }

    private Gauge gauge(String name, String help) {
        Gauge gauge = new Gauge(GaugeSnapshot.builder().name(name).help(help));
        families.add(gauge);
        return gauge;
    }

    /** @param name without {@code _total}, which is appended */
    private Counter counter(String name, String help) {
        Counter counter = new Counter(CounterSnapshot.builder().name(name).help(help));
        families.add(counter);
        return counter;
    }

    /** All values of one metric. */
    private interface Family {
        MetricSnapshot build();
    }

    private record Gauge(GaugeSnapshot.Builder points) implements Family {

        /** @param labels names, each with its value after it */
        void add(double value, String... labels) {
            add(value, Labels.of(labels));
        }

        void add(long value, String... labels) {
            add((double) value, labels);
        }

        void add(double value, Labels labels) {
            points.dataPoint(
                    GaugeDataPointSnapshot.builder().value(value).labels(labels).build());
        }

        @Override
        public MetricSnapshot build() {
            return points.build();
        }
    }

    private record Counter(CounterSnapshot.Builder points) implements Family {

        void add(double value, String... labels) {
            add(value, Labels.of(labels));
        }

        void add(long value, String... labels) {
            add((double) value, labels);
        }

        void add(long value, Labels labels) {
            add((double) value, labels);
        }

        void add(double value, Labels labels) {
            points.dataPoint(CounterDataPointSnapshot.builder()
                    .value(value)
                    .labels(labels)
                    .build());
        }

        @Override
        public MetricSnapshot build() {
            return points.build();
        }
    }

    private void each(String name, String help, ToDoubleFunction<ServerSnapshot> value) {
        Gauge gauge = gauge(name, help);
        snapshot.servers().forEach((server, seen) -> gauge.add(value.applyAsDouble(seen), "server", server));
    }

    private static double truth(boolean isTrue) {
        return isTrue ? 1 : 0;
    }

    private static double seconds(Instant at) {
        return at.toEpochMilli() / 1000.0;
    }
}
