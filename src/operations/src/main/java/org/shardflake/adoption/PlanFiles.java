/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.adoption.AdoptionPlan.Changelogs;
import org.shardflake.flyway.AppliedMigrations;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.server.SqlText;
import org.shardflake.yaml.TextFile;
import org.shardflake.yaml.YamlNode;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;

/** Writes a plan and its changelogs as files, and keeps what people have edited in them. */
public final class PlanFiles {

    private static final String MADE_HEAD =
            "# The plan as it was made last time, to tell what was edited since. Keep it in version control, and do not edit it.\n";

    private final Path file;
    private final Path directory;
    private final boolean mayRewrite;
    private final List<String> written = new ArrayList<>();
    private final List<String> kept = new ArrayList<>();

    /**
     * Writes to a plan's file and a directory of changelogs.
     *
     * @param file of the plan
     * @param directory of the changelogs
     * @param mayRewrite whether changesets that were not edited are made again; only right before they are deployed
     */
    public PlanFiles(Path file, Path directory, boolean mayRewrite) {
        this.file = file;
        this.directory = directory;
        this.mayRewrite = mayRewrite;
    }

    /**
     * The outcome of planning.
     *
     * @param written the files that were written, with what is in them
     * @param kept what would be made otherwise than the files have it, and was left as it is
     * @param history the file with what Flyway had applied when the changelogs were made; none if the database has no history of Flyway's, or
     *     several of which none was chosen
     */
    public record Report(AdoptionPlan plan, List<String> written, List<String> kept, Optional<Path> history) {

        public Report {
            written = List.copyOf(written);
            kept = List.copyOf(kept);
        }
    }

    /** The file that holds the previous proposal. */
    private Path madeFile() {
        return besides(".made.yaml");
    }

    private Path besides(String end) {
        String name = String.valueOf(file.getFileName());
        return file.resolveSibling(name.replaceFirst("\\.ya?ml$", "") + end);
    }

    /**
     * Creates a plan, or updates an existing one. Reads the database only.
     *
     * @param url of the database, as for {@link org.shardflake.assess.Assessor#assess}
     * @param key the sharding key; null for the one of the existing plan, or to propose one
     * @param statements SQL statements of the application; null for those of pg_stat_statements
     * @throws ShardflakeException if a file is not as it should be, or nothing can be planned; nothing was written
     */
    public Report plan(ServerUrl url, @Nullable String key, @Nullable String statements) throws IOException {
        return plan(url, key, statements, null);
    }

    /**
     * The same for a database with several histories of Flyway's.
     *
     * @param history the table of the one that shards take over, such as {@code public.flyway_schema_history}; null for the one of the existing file,
     *     or the one that has all versions of the others
     */
    public Report plan(ServerUrl url, @Nullable String key, @Nullable String statements, @Nullable String history)
            throws IOException {
        Map<String, ?> made = Files.exists(madeFile()) ? mapping(madeFile()) : Map.of();
        AdoptionPlan existing = Files.exists(file) ? read(file) : null;
        if (existing != null) {
            refuseOther(existing, url);
        }
        String wanted = key == null && existing != null ? name(existing.key()) : key;
        Changelogs names = existing == null
                ? new Changelogs(relative("shards.sql"), relative("reference.sql"))
                : new Changelogs(
                        existing.changelogs().shards(),
                        existing.changelogs().reference() == null
                                ? relative("reference.sql")
                                : existing.changelogs().reference());
        Path historyFile = besides(".flyway.yaml");
        @Nullable AppliedMigrations taken = Files.exists(historyFile) ? history(historyFile) : null;
        AdoptionPlanner.Proposal proposal =
                AdoptionPlanner.propose(url, wanted, statements, names, all -> chosen(all, history, taken));
        // What is left out follows from the plan, and is part of it.
        AdoptionPlan tables = merged(new PlanMerge(), made, existing, proposal.plan(), proposal);
        ChangelogWriter writer = new ChangelogWriter(proposal.catalog(), tables);
        Changelog shards = writer.shards();
        Changelog reference = writer.reference();
        AdoptionPlan fresh = with(proposal.plan(), proposal.plan().changelogs(), writer.leftOut());
        PlanMerge merge = new PlanMerge();
        AdoptionPlan plan = merged(merge, made, existing, fresh, proposal);
        if (!reference.isEmpty() && plan.changelogs().reference() == null) {
            plan = with(plan, new Changelogs(plan.changelogs().shards(), names.reference()), List.of());
        }
        kept.addAll(merge.conflicts());
        Map<String, Object> digests = new LinkedHashMap<>();
        Map<Path, String> texts = new LinkedHashMap<>();
        Map<String, Object> madeDigests = mapping(made.get("changesets"));
        boolean isOlder = taken != null
                && proposal.applied().filter(its -> its.isOtherThan(taken)).isPresent();
        add(texts, digests, madeDigests, plan.changelogs().shards(), shards, !isOlder || mayRewrite);
        if (plan.changelogs().reference() != null) {
            add(texts, digests, madeDigests, plan.changelogs().reference(), reference, true);
        }
        proposal.applied().ifPresent(applied -> addHistory(texts, historyFile, taken, applied, isOlder));
        texts.put(file.resolveSibling(AdoptionPlanFile.SCHEMA_FILE), AdoptionPlanFile.schema());
        texts.put(file, AdoptionPlanFile.format(plan));
        Map<String, Object> now = new LinkedHashMap<>();
        now.put("plan", AdoptionPlanFile.properties(fresh));
        now.put("changesets", digests);
        texts.put(
                madeFile(),
                MADE_HEAD
                        + new Dump(DumpSettings.builder()
                                        .setWidth(Integer.MAX_VALUE)
                                        .build())
                                .dumpToString(now));
        for (Map.Entry<Path, String> text : texts.entrySet()) {
            write(text.getKey(), text.getValue());
        }
        return new Report(
                plan,
                written,
                kept,
                Optional.of(historyFile).filter(its -> proposal.applied().isPresent() && Files.exists(its)));
    }

    private static AppliedMigrations history(Path path) throws IOException {
        try {
            return AppliedMigrations.read(path);
        } catch (IllegalArgumentException e) {
            throw invalid(e);
        }
    }

    private static Optional<AppliedMigrations> chosen(
            List<AppliedMigrations> all, @Nullable String table, @Nullable AppliedMigrations before) {
        if (table == null) {
            return all.stream()
                    .filter(its -> before != null && its.table().equals(before.table()))
                    .findFirst()
                    .or(() -> AppliedMigrations.chosen(all));
        }
        return Optional.of(all.stream()
                .filter(its -> its.table().equals(table))
                .findFirst()
                .orElseThrow(() -> new ShardflakeException(
                        Kind.USAGE,
                        all.isEmpty()
                                ? "%s is not a history of Flyway's; the database has none".formatted(table)
                                : "%s is not a history of Flyway's; the database has %s"
                                        .formatted(
                                                table,
                                                all.stream()
                                                        .map(AppliedMigrations::table)
                                                        .collect(Collectors.joining(", "))),
                        "name the table with its schema, as in public.flyway_schema_history",
                        null)));
    }

    /** Adds Flyway's current history, unless the changelogs may be older than it: shards would then still need the later migrations. */
    private void addHistory(
            Map<Path, String> texts,
            Path path,
            @Nullable AppliedMigrations taken,
            AppliedMigrations applied,
            boolean isOlder) {
        boolean exists = taken != null;
        if (exists && !isOlder) {
            return;
        }
        if (kept.isEmpty() ? !exists || mayRewrite : !exists && mayRewrite) {
            texts.put(path, applied.format());
        } else if (exists && mayRewrite) {
            kept.add(
                    "%s: the last version is now %s, and changesets that were edited may be older. Bring them up to date, remove this file, and make everything again"
                            .formatted(path, applied.last().orElse("none")));
        } else if (taken != null && !taken.table().equals(applied.table())) {
            kept.add("%s: it has the history of %s; to have that of %s in its place, remove this file"
                    .formatted(path, taken.table(), applied.table()));
        } else if (exists) {
            kept.add(
                    "%s: Flyway has applied migrations since, which shards get by running them; the last version is now %s"
                            .formatted(path, applied.last().orElse("none")));
        } else {
            kept.add("%s would be written, but changesets are older than Flyway's history".formatted(path));
        }
    }

    /** Refuses a plan of another database, before anything in it is searched for in this one. */
    private void refuseOther(AdoptionPlan existing, ServerUrl url) {
        String planned = existing.source().database();
        String database = Sql.translating(() -> Sql.with(
                url.connect("shardflake adopt plan"), connection -> Sql.text(connection, "SELECT current_database()")));
        if (!planned.equals(database)) {
            throw new ShardflakeException(
                    Kind.USAGE,
                    "%s is the plan of database %s, not of %s".formatted(file, planned, database),
                    "name another file, or the database of the plan",
                    null);
        }
    }

    private static AdoptionPlan with(AdoptionPlan plan, Changelogs changelogs, List<AdoptionPlan.LeftOut> leftOut) {
        List<AdoptionPlan.LeftOut> all = new ArrayList<>(plan.leftOut());
        all.addAll(leftOut);
        return new AdoptionPlan(plan.source(), plan.key(), plan.tables(), plan.lookups(), changelogs, all);
    }

    private AdoptionPlan merged(
            PlanMerge merge,
            Map<String, ?> made,
            @Nullable AdoptionPlan existing,
            AdoptionPlan fresh,
            AdoptionPlanner.Proposal proposal) {
        if (existing == null) {
            return fresh;
        }
        Map<String, Object> properties = merge.merge(
                mapping(made.get("plan")), AdoptionPlanFile.properties(existing), AdoptionPlanFile.properties(fresh));
        AdoptionPlan plan;
        try {
            plan = AdoptionPlanFile.parse(AdoptionPlanFile.format(properties));
        } catch (IllegalArgumentException e) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "what was edited in %s does not fit what the database has now: %s".formatted(file, e.getMessage()),
                    "change the plan so that it does, and run this again",
                    e);
        }
        List<String> missing = plan.tables().stream()
                .filter(table -> !proposal.catalog().tables().containsKey(table.name()))
                .map(table -> table.name().toString())
                .toList();
        if (!missing.isEmpty()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "%s names tables that the database does not have: %s".formatted(file, String.join(", ", missing)),
                    "remove them from the plan, or correct their names",
                    null);
        }
        return plan;
    }

    private static String name(AdoptionPlan.Key key) {
        String column = TableName.written(key.column());
        return key.table() == null ? column : key.table() + "." + column;
    }

    private String relative(String name) {
        Path from = file.toAbsolutePath().normalize().getParent();
        Path to = directory.toAbsolutePath().normalize().resolve(name);
        return String.valueOf(from == null ? to : from.relativize(to)).replace('\\', '/');
    }

    private static AdoptionPlan read(Path file) throws IOException {
        try {
            return AdoptionPlanFile.read(file);
        } catch (IllegalArgumentException e) {
            throw invalid(e);
        }
    }

    private static ShardflakeException invalid(IllegalArgumentException e) {
        return new ShardflakeException(
                Kind.PRECONDITION,
                String.valueOf(e.getMessage()),
                "correct the file, or move it away to have it made again; nothing was written",
                e);
    }

    private static Map<String, Object> mapping(Path file) throws IOException {
        try {
            return TextFile.read(file, text -> mapping(YamlNode.load(text, "plan")));
        } catch (IllegalArgumentException e) {
            throw invalid(e);
        }
    }

    private static Map<String, Object> mapping(@Nullable Object value) {
        Map<String, Object> mapping = new LinkedHashMap<>();
        if (value instanceof Map<?, ?> map) {
            map.forEach((name, property) -> mapping.put(String.valueOf(name), property));
        }
        return mapping;
    }

    /**
     * Adds new changesets to a changelog, and updates those that may be written again.
     *
     * @param mayGrow whether new changesets are added; if not, a migration that shards will run makes the same
     */
    private void add(
            Map<Path, String> texts,
            Map<String, Object> digests,
            Map<String, Object> madeDigests,
            String name,
            Changelog fresh,
            boolean mayGrow)
            throws IOException {
        Path path = file.resolveSibling(name);
        Map<String, Object> made = mapping(madeDigests.get(name));
        Map<String, Object> now = new LinkedHashMap<>(made);
        Changelog existing = Files.exists(path) ? Changelog.parse(Files.readString(path)) : Changelog.empty();
        Map<String, String> before = Map.copyOf(existing.changesets());
        fresh.changesets().forEach((id, text) -> {
            String its = existing.changesets().get(id);
            String digest = SqlText.digest(text);
            if (its == null && made.containsKey(id)) {
                // It was taken out of the file.
                return;
            }
            if (its == null && !before.isEmpty() && !mayGrow) {
                kept.add("%s: changeset %s is new, and left out, since shards may get the same from Flyway's migrations"
                        .formatted(name, id));
                return;
            }
            boolean isEdited = its != null && !SqlText.digest(its).equals(made.get(id));
            if (its == null || (mayRewrite && !isEdited)) {
                existing.changesets().put(id, text);
                now.put(id, digest);
            } else if (!its.equals(text) && !digest.equals(made.get(id))) {
                kept.add(
                        isEdited
                                ? "%s: changeset %s was edited, and would now be made otherwise".formatted(name, id)
                                : "%s: changeset %s would now be made otherwise".formatted(name, id));
            }
        });
        for (String id : List.copyOf(existing.changesets().keySet())) {
            if (made.containsKey(id) && !fresh.changesets().containsKey(id)) {
                boolean isEdited = !SqlText.digest(
                                String.valueOf(existing.changesets().get(id)))
                        .equals(made.get(id));
                if (mayRewrite && !isEdited) {
                    existing.changesets().remove(id);
                    now.remove(id);
                } else {
                    kept.add("%s: changeset %s would no longer be made".formatted(name, id));
                }
            }
        }
        digests.put(name, now);
        if (!before.equals(existing.changesets())) {
            texts.put(path, existing.format());
        }
    }

    private void write(Path path, String text) throws IOException {
        if (Files.exists(path) && Files.readString(path).equals(text)) {
            return;
        }
        if (path.toAbsolutePath().getParent() != null) {
            Files.createDirectories(path.toAbsolutePath().getParent());
        }
        TextFile.write(text, "a plan", path);
        written.add(path.toString());
    }
}
