/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import org.shardflake.benchmarks.ids.IdCandidate.DatabaseCandidate;
import org.shardflake.benchmarks.ids.IdCandidate.JavaCandidate;
import org.shardflake.benchmarks.report.Sessions;
import org.shardflake.jdbc.Sql;
import org.shardflake.scheme.GeneratorSettings;
import org.shardflake.scheme.IdGenerator;
import org.shardflake.scheme.LongIdGenerator;

/**
 * Ids that are there twice after 16 sessions made as many as they can: sessions of the database, each in one statement, or
 * generators in Java as 16 processes of one machine would have them, each numbered as its scheme numbers them.
 */
final class Duplicates {

    static final int SESSIONS = 16;

    private Duplicates() {}

    /** The number of ids made, and of those that repeat an earlier one. */
    record Outcome(long ids, long duplicates) {}

    static Outcome inDatabase(Servers servers, DatabaseCandidate candidate, int ids) throws Exception {
        int each = ids / SESSIONS;
        try (Connection observer = servers.connect()) {
            String drawn = candidate.schema() + ".drawn";
            Sql.execute(
                    observer,
                    "CREATE UNLOGGED TABLE %s (id %s)"
                            .formatted(drawn, candidate.type().column()));
            Sessions.run(SESSIONS, (number, start) -> {
                try (Connection connection = servers.connect()) {
                    start.await();
                    Sql.execute(
                            connection,
                            "INSERT INTO %s SELECT %s FROM generate_series(1, %d)"
                                    .formatted(drawn, candidate.expression(), each));
                    return number;
                }
            });
            long total = Sql.number(observer, "SELECT count(*) FROM " + drawn);
            long distinct = Sql.number(observer, "SELECT count(DISTINCT id) FROM " + drawn);
            Sql.execute(observer, "DROP TABLE " + drawn);
            return new Outcome(total, total - distinct);
        }
    }

    static Outcome inJava(JavaCandidate candidate, GeneratorSettings settings, int ids) throws Exception {
        return inJava(candidate, number -> settings, ids);
    }

    /** The same with numbers given to those that would take them from the hardware. */
    static Outcome inJavaNumbered(JavaCandidate candidate, GeneratorSettings settings, int ids) throws Exception {
        return inJava(candidate, settings::withWorker, ids);
    }

    private static Outcome inJava(JavaCandidate candidate, IntFunction<GeneratorSettings> settings, int ids)
            throws Exception {
        int each = ids / SESSIONS;
        List<Comparable<?>[]> drawn = Sessions.run(SESSIONS, (number, start) -> {
            try (IdGenerator generator = candidate.generator(settings.apply(number))) {
                start.await();
                Comparable<?>[] made = new Comparable<?>[each];
                for (int i = 0; i < each; i++) {
                    made[i] = next(generator);
                }
                return made;
            }
        });
        List<Comparable<?>> all = new ArrayList<>();
        drawn.forEach(some -> all.addAll(Arrays.asList(some)));
        return new Outcome(all.size(), count(all));
    }

    /** The next id, in the form that takes the least work. */
    static Comparable<?> next(IdGenerator generator) throws Exception {
        if (generator instanceof LongIdGenerator numbers) {
            return numbers.nextLong();
        }
        return generator.next();
    }

    /** The number of ids that repeat an earlier one. */
    static long count(List<? extends Comparable<?>> ids) {
        Object[] sorted = ids.toArray();
        Arrays.sort(sorted);
        long duplicates = 0;
        for (int i = 1; i < sorted.length; i++) {
            if (sorted[i].equals(sorted[i - 1])) {
                duplicates++;
            }
        }
        return duplicates;
    }
}
