/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.console;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.shardflake.CliCommand;
import org.shardflake.PublicIds;
import org.shardflake.ShardSet;
import org.shardflake.cli.command.doctor.DoctorMixin;
import org.shardflake.cli.command.doctor.DoctorView;
import org.shardflake.cli.command.map.MapHistoryCommand;
import org.shardflake.cli.command.move.MoveMixin;
import org.shardflake.cli.command.move.MoveView;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.schema.DeployView;
import org.shardflake.cli.command.schema.SchemaStatusCommand;
import org.shardflake.cli.command.schema.TargetsMixin;
import org.shardflake.cli.console.Questions;
import org.shardflake.cli.console.ShownCommand;
import org.shardflake.deploy.SchemaStatus;
import org.shardflake.deploy.ShardDrift;
import org.shardflake.doctor.Doctor;
import org.shardflake.doctor.Finding;
import org.shardflake.doctor.PlacementTimes;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.Mover;

/** Answers the console's queries with the output of doctor, move status, schema status and map history. */
final class ConsoleQuestions implements Questions {

    private static final int CHANGES = 100;
    private static final int DRIFTS = 20;

    /** The options with which a command gives up rows that it could not compare or reach. */
    private static final Set<String> GIVING_ROWS_UP =
            Set.of("--catalog-lost", "--recreate", "--target-lost", "--uncompared");

    private final CatalogMixin catalog;
    private final Optional<PublicIds> publicIds;

    ConsoleQuestions(CatalogMixin catalog, Optional<PublicIds> publicIds) {
        this.catalog = catalog;
        this.publicIds = publicIds;
    }

    @Override
    public List<Map<String, Object>> findings() throws InterruptedException {
        Mover mover = MoveMixin.mover(catalog, MoveSettings.DEFAULT, MoveListener.NONE);
        Doctor doctor = DoctorMixin.doctor(catalog, mover, Set.of());
        List<Map<String, Object>> findings = new ArrayList<>();
        for (Finding finding : doctor.examine()) {
            Map<String, Object> facts = new LinkedHashMap<>(DoctorView.facts(finding, false));
            facts.put("commands", commands(finding));
            findings.add(facts);
        }
        return findings;
    }

    private List<ShownCommand> commands(Finding finding) {
        List<CliCommand> commands = new ArrayList<>(safestFirst(finding.remedy().commands()));
        if (finding.isFixable() && !commands.contains(CliCommand.DOCTOR_FIX)) {
            commands.add(0, CliCommand.DOCTOR_FIX);
        }
        return commands.stream().map(this::command).toList();
    }

    /** The commands in their order, with those that give up rows at the end. */
    static List<CliCommand> safestFirst(List<CliCommand> commands) {
        return commands.stream()
                .sorted(Comparator.comparing(command -> command.words().stream().anyMatch(GIVING_ROWS_UP::contains)))
                .toList();
    }

    @Override
    public Map<String, Object> schemas() {
        SchemaStatus status = SchemaStatusCommand.read(new TargetsMixin(), catalog, true);
        List<ShardDrift> drifts = status.drifts();
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("groups", SchemaStatusCommand.groups(status));
        facts.put("differing", drifts.size());
        facts.put("described", DeployView.drifts(drifts.stream().limit(DRIFTS).toList()));
        facts.put(
                "others",
                ShardSet.of(drifts.stream().skip(DRIFTS).map(ShardDrift::shard).toList())
                        .toString());
        facts.put("command", command(CliCommand.SCHEMA_DRIFT));
        return facts;
    }

    @Override
    public List<Map<String, Object>> history() {
        return catalog.catalog().history(CHANGES).stream()
                .map(MapHistoryCommand::facts)
                .toList();
    }

    @Override
    public Optional<Instant> placedAt(String server, ShardSet shards) {
        return PlacementTimes.read(catalog.url(), server, shards).first();
    }

    @Override
    public Map<String, Object> move(MoveStatus status) {
        return MoveView.facts(status);
    }

    @Override
    public Optional<PublicIds> publicIds() {
        return publicIds;
    }

    /** Adds the catalog to a command if it was given on this command line. */
    @Override
    public ShownCommand command(CliCommand command) {
        String origin = catalog.ofCommandLine()
                .map(url -> " --catalog " + CliCommand.quoted(url))
                .orElse("");
        return new ShownCommand(command, command + origin);
    }
}
