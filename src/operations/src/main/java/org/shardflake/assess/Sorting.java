/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.assess;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.shardflake.assess.Assessment.Placement;

/** The destinations of a database's tables for one key. */
final class Sorting {

    /** The size above which a table is not made a reference table, since each server would have a copy. */
    private static final long LARGEST_REFERENCE_BYTES = 256L << 20;

    private static final Pattern OWNERS = Pattern.compile(
            "(?i)(^|_)(user|account|customer|client|tenant|organi[sz]ation|company|owner|member|subscriber|person|people|patient|player|team|workspace|merchant|shop|store)");

    /**
     * A possible key.
     *
     * @param root the table whose primary key it is; null if it only is a column of several tables
     * @param column of the root, or of all tables that have it
     * @param names the names of columns that hold it in other tables
     */
    record Candidate(@Nullable SourceTable root, SourceTable.Column column, Set<String> names) {

        String name() {
            return root == null ? column.quoted() : root.name() + "." + column.quoted();
        }
    }

    /**
     * The way in which a table's rows are assigned to a shard.
     *
     * @param column its own column with the key; null for a table by a path
     * @param parent the foreign key to the next table of the path; null for a table with its own column
     */
    record Place(Placement placement, SourceTable.@Nullable Column column, SourceTable.@Nullable ForeignKey parent) {}

    private final SourceSchema schema;
    private final Candidate candidate;
    private final Map<Long, Place> places = new LinkedHashMap<>();
    private final Map<Long, List<SourceTable.Column>> otherKeys = new HashMap<>();

    Sorting(SourceSchema schema, Candidate candidate) {
        this.schema = schema;
        this.candidate = candidate;
        Queue<SourceTable> reached = new ArrayDeque<>();
        schema.all()
                .forEach(table -> ownColumn(table).ifPresent(place -> {
                    places.put(table.oid(), place);
                    reached.add(table);
                }));
        follow(reached);
        placeReferences();
        schema.all().forEach(table -> places.putIfAbsent(table.oid(), new Place(Placement.STAYS, null, null)));
    }

    Candidate candidate() {
        return candidate;
    }

    SourceSchema schema() {
        return schema;
    }

    Place place(long table) {
        Place place = places.get(table);
        if (place == null) {
            throw new IllegalArgumentException("no table " + table);
        }
        return place;
    }

    boolean isSharded(long table) {
        return schema.has(table) && place(table).placement().isSharded();
    }

    /** Columns that refer to the key's own table, except the chosen one. */
    List<SourceTable.Column> otherKeys(SourceTable table) {
        return otherKeys.getOrDefault(table.oid(), List.of());
    }

    /** All possible keys of a database: primary keys that others refer to, and columns that several tables have. */
    static List<Candidate> candidates(SourceSchema schema) {
        List<Candidate> found = new ArrayList<>();
        Set<String> named = new HashSet<>();
        schema.all().forEach(table -> {
            SourceTable.Column key = table.singleKey();
            if (key != null && key.isKeyable() && !schema.referrers(table.oid()).isEmpty()) {
                Candidate candidate = new Candidate(table, key, namesOf(schema, table, key));
                named.addAll(candidate.names());
                found.add(candidate);
            }
        });
        Map<String, List<SourceTable.Column>> shared = new LinkedHashMap<>();
        schema.all()
                .forEach(table -> table.columns().stream()
                        .filter(column -> column.isKeyable()
                                && column.isNotNull()
                                && !column.isFilled()
                                && table.foreignKeys().stream()
                                        .noneMatch(key -> key.columns().equals(List.of(column.name()))))
                        .forEach(column -> shared.computeIfAbsent(column.name(), name -> new ArrayList<>())
                                .add(column)));
        shared.forEach((name, columns) -> {
            if (columns.size() > 1 && !named.contains(name)) {
                found.add(new Candidate(null, mostValues(columns), Set.of(name)));
            }
        });
        return found;
    }

    private static SourceTable.Column mostValues(List<SourceTable.Column> columns) {
        return columns.stream()
                .max(Comparator.comparingLong(SourceTable.Column::values))
                .orElseThrow();
    }

    private static Set<String> namesOf(SourceSchema schema, SourceTable root, SourceTable.Column key) {
        Set<String> names = new HashSet<>();
        for (SourceTable table : schema.referrers(root.oid())) {
            for (SourceTable.ForeignKey foreign : table.foreignKeys()) {
                if (refersTo(foreign, root, key) && !isByWhom(foreign.columns().get(0))) {
                    names.add(foreign.columns().get(0));
                }
            }
        }
        String plain = root.plainName();
        for (String singular : List.of(plain, plain.replaceFirst("s$", ""), plain.replaceFirst("ies$", "y"))) {
            names.add(singular + "_" + key.name());
        }
        // Many tables have a column id, and it is rarely the same one.
        names.remove(key.name());
        return names;
    }

    private static boolean refersTo(SourceTable.ForeignKey foreign, SourceTable root, SourceTable.Column key) {
        return foreign.target() == root.oid()
                && foreign.columns().size() == 1
                && foreign.targetColumns().get(0).equals(key.name());
    }

    /** Whether a column says who did something to the row, such as created_by, rather than who owns it. */
    private static boolean isByWhom(String column) {
        return column.matches(".*_by(_.*)?");
    }

    private Optional<Place> ownColumn(SourceTable table) {
        SourceTable root = candidate.root();
        if (root != null && table.oid() == root.oid()) {
            return Optional.of(new Place(Placement.PRIMARY_KEY, candidate.column(), null));
        }
        List<SourceTable.Column> own = table.columns().stream()
                .filter(column -> holdsKey(table, column))
                .sorted(Comparator.comparing((SourceTable.Column column) -> !column.isNotNull())
                        .thenComparing(column -> !candidate.names().contains(column.name()))
                        .thenComparing(SourceTable.Column::number))
                .toList();
        if (own.isEmpty()) {
            return Optional.empty();
        }
        otherKeys.put(table.oid(), own.subList(1, own.size()));
        return Optional.of(new Place(Placement.COLUMN, own.get(0), null));
    }

    private boolean holdsKey(SourceTable table, SourceTable.Column column) {
        SourceTable root = candidate.root();
        List<SourceTable.ForeignKey> keys = table.foreignKeys().stream()
                .filter(key -> key.columns().equals(List.of(column.name())))
                .toList();
        if (root != null && keys.stream().anyMatch(key -> refersTo(key, root, candidate.column()))) {
            return !isByWhom(column.name());
        }
        return keys.isEmpty()
                && candidate.names().contains(column.name())
                && column.isKeyable()
                && isSameKind(column.type(), candidate.column().type());
    }

    private static boolean isSameKind(String one, String other) {
        return kind(one).equals(kind(other));
    }

    private static String kind(String type) {
        return switch (type) {
            case "smallint", "integer", "bigint" -> "number";
            case "uuid" -> "uuid";
            default -> "text";
        };
    }

    /** Assigns tables along foreign keys, from those with a known place to those that refer to them, the nearest first. */
    private void follow(Queue<SourceTable> reached) {
        while (!reached.isEmpty()) {
            SourceTable parent = reached.remove();
            for (SourceTable table : schema.referrers(parent.oid())) {
                if (!places.containsKey(table.oid())) {
                    table.foreignKeys().stream()
                            .filter(key -> key.target() == parent.oid()
                                    && !isByWhom(key.columns().get(0)))
                            .min(Comparator.comparing(key -> !table.isNotNull(key.columns())))
                            .ifPresent(key -> {
                                places.put(table.oid(), new Place(Placement.PATH, null, key));
                                reached.add(table);
                            });
                }
            }
        }
    }

    /**
     * Makes reference tables of small tables that tables of the shards refer to, of those that these refer to, and of tables that only describe
     * them, such as translations.
     */
    private void placeReferences() {
        Queue<SourceTable> users = new ArrayDeque<>();
        schema.all().filter(table -> isSharded(table)).forEach(users::add);
        while (!users.isEmpty()) {
            for (long target : users.remove().targets()) {
                if (schema.has(target) && !places.containsKey(target) && isSmall(schema.table(target))) {
                    places.put(target, new Place(Placement.REFERENCE, null, null));
                    users.add(schema.table(target));
                }
            }
        }
        boolean found = true;
        while (found) {
            found = false;
            for (SourceTable table : schema.all().toList()) {
                boolean describes = !places.containsKey(table.oid())
                        && isSmall(table)
                        && !table.targets().isEmpty()
                        && table.targets().stream().allMatch(this::isReference);
                if (describes) {
                    places.put(table.oid(), new Place(Placement.REFERENCE, null, null));
                    found = true;
                }
            }
        }
    }

    private boolean isSharded(SourceTable table) {
        Place place = places.get(table.oid());
        return place != null && place.placement().isSharded();
    }

    private boolean isReference(long table) {
        Place place = places.get(table);
        return place != null && place.placement() == Placement.REFERENCE;
    }

    private static boolean isSmall(SourceTable table) {
        return table.bytes() <= LARGEST_REFERENCE_BYTES;
    }

    /** The path to the key, such as {@code order_id -> orders.user_id}; empty for a table that is not sharded. */
    String path(SourceTable table) {
        Place place = place(table.oid());
        if (place.column() != null) {
            return place.column().quoted();
        }
        SourceTable.ForeignKey parent = place.parent();
        if (parent == null) {
            return "";
        }
        SourceTable next = schema.table(parent.target());
        return columns(table, parent.columns()) + " -> " + next.name() + "." + path(next);
    }

    /** The foreign keys that lead to the key; empty for a table that has the key itself, or is not sharded. */
    List<Assessment.Step> steps(SourceTable table) {
        List<Assessment.Step> steps = new ArrayList<>();
        for (SourceTable.ForeignKey key = place(table.oid()).parent(); key != null; ) {
            steps.add(new Assessment.Step(
                    key.columns(), schema.table(key.target()).name(), key.targetColumns()));
            key = place(key.target()).parent();
        }
        return steps;
    }

    /** A query for the key of a row of this table; empty unless the table is sharded by a path. */
    String keyQuery(SourceTable table) {
        SourceTable.ForeignKey parent = place(table.oid()).parent();
        if (parent == null) {
            return "";
        }
        StringBuilder joins = new StringBuilder();
        SourceTable at = schema.table(parent.target());
        String first = at.name();
        String where = equal(table, parent, at);
        Place place = place(at.oid());
        while (place.parent() != null) {
            SourceTable next = schema.table(place.parent().target());
            joins.append(" JOIN ").append(next.name()).append(" ON ").append(equal(at, place.parent(), next));
            at = next;
            place = place(at.oid());
        }
        String key = place.column() == null ? "" : place.column().quoted();
        return "SELECT %s.%s FROM %s%s WHERE %s".formatted(at.name(), key, first, joins, where);
    }

    private static String equal(SourceTable table, SourceTable.ForeignKey key, SourceTable target) {
        List<String> parts = new ArrayList<>();
        for (int i = 0; i < key.columns().size(); i++) {
            parts.add("%s.%s = %s.%s"
                    .formatted(
                            target.name(),
                            target.quoted(key.targetColumns().get(i)),
                            table.name(),
                            table.quoted(key.columns().get(i))));
        }
        return String.join(" AND ", parts);
    }

    static String columns(SourceTable table, List<String> names) {
        List<String> quoted = names.stream().map(table::quoted).toList();
        return quoted.size() == 1 ? quoted.get(0) : "(" + String.join(", ", quoted) + ")";
    }

    long shardedBytes() {
        return schema.all()
                .filter(this::isSharded)
                .mapToLong(SourceTable::bytes)
                .sum();
    }

    /** The number of distinct values of the key. */
    long values() {
        SourceTable root = candidate.root();
        return root == null ? candidate.column().values() : Math.max(0, root.rows());
    }

    /** The share of the most common value in the largest table with the key besides its own. */
    double largestShare() {
        return schema.all()
                .filter(table -> place(table.oid()).placement() == Placement.COLUMN)
                .max(Comparator.comparingLong(SourceTable::bytes))
                .map(table -> {
                    SourceTable.Column column = place(table.oid()).column();
                    return column == null ? 0 : column.largestShare();
                })
                .orElse(0.0);
    }

    /** The score of the key, judging by the tables alone: the share of data and writes that it shards, weighted by distance and granularity. */
    double weight() {
        double fineness = Math.min(1, Math.log10((double) Math.max(values(), 2)) / 4);
        double sharded = shardedPart(SourceTable::bytes) + shardedPart(SourceTable::writes);
        double weight = sharded * fineness * (1 - largestShare());
        // Without statements, a name says more than sizes do.
        return ownsData() && sharded > 0.1 ? weight + 2 : weight;
    }

    private double shardedPart(ToLongFunction<SourceTable> amount) {
        double all = 0;
        double sharded = 0;
        for (SourceTable table : schema.tables().values()) {
            // So that tables count before they have rows, too.
            double size = amount.applyAsLong(table) + 1.0;
            all += size;
            sharded += isSharded(table) ? size * Math.pow(0.8, depth(table)) : 0;
        }
        return sharded / all;
    }

    /** Whether the key's name suggests an owner of data: a catalog of products has many referring rows, too. */
    private boolean ownsData() {
        SourceTable root = candidate.root();
        return OWNERS.matcher(root == null ? candidate.column().name() : root.plainName())
                .find();
    }

    private int depth(SourceTable table) {
        int depth = 0;
        for (SourceTable.ForeignKey parent = place(table.oid()).parent(); parent != null; depth++) {
            parent = place(parent.target()).parent();
        }
        return depth;
    }
}
