/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.copy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;

/** Whatever indexes and constraints tables have, a copy leaves them as they were. */
class ShardCopyTest {

    private static final CopyThrottle UNLIMITED = bytes -> {};

    private static final long LARGE = 10 << 20;
    private static final long PAGE = 8192;

    private static final List<String> TABLES = List.of(
            "shard_0007.album",
            "shard_0007.node",
            "shard_0007.photo",
            "shard_0007.place",
            "shard_0007.item",
            "shard_0007.special");

    private static final String SCHEMA = """
            CREATE SCHEMA shard_0007;
            SET search_path = shard_0007;
            CREATE TABLE place (id integer CONSTRAINT "Place key" PRIMARY KEY WITH (fillfactor = 70), code text NOT NULL);
            CREATE UNIQUE INDEX place_code ON place (code);
            ALTER TABLE place REPLICA IDENTITY USING INDEX place_code;
            CREATE TABLE album (id bigint PRIMARY KEY, name text, UNIQUE (name, id) INCLUDE (name));
            CREATE TABLE photo (
                id bigint, uid bigint NOT NULL, title text, album bigint REFERENCES album ON DELETE CASCADE,
                place integer CONSTRAINT "where" REFERENCES place (id) DEFERRABLE INITIALLY DEFERRED,
                PRIMARY KEY (id, uid) DEFERRABLE, CONSTRAINT title UNIQUE NULLS NOT DISTINCT (title),
                EXCLUDE USING btree (id WITH =));
            COMMENT ON CONSTRAINT title ON photo IS 'said of it';
            CREATE INDEX photo_lower ON photo (lower(title) DESC) WITH (fillfactor = 50) WHERE uid > 3;
            CREATE INDEX photo_uid ON photo (uid);
            ALTER TABLE photo CLUSTER ON photo_uid;
            CREATE TABLE node (id bigint PRIMARY KEY, up bigint REFERENCES node, name text NOT NULL, UNIQUE NULLS NOT DISTINCT (up, id));
            ALTER TABLE node ADD FOREIGN KEY (id) REFERENCES album NOT VALID;
            CREATE TABLE item (id bigint PRIMARY KEY);
            CREATE TABLE special (PRIMARY KEY (id)) INHERITS (item);
            CREATE VIEW named AS SELECT id, name, count(*) FROM album GROUP BY id;
            """;

    private static final String DEFINITIONS = """
            SELECT concat_ws(' ', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid), k.convalidated,
                             obj_description(k.oid, 'pg_constraint'))
              FROM pg_constraint k WHERE k.connamespace = 'shard_0007'::regnamespace AND k.contype <> 'n'
             UNION ALL
            SELECT concat_ws(' ', pg_get_indexdef(x.indexrelid), x.indisprimary, x.indisreplident, x.indisclustered, x.indisvalid)
              FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid WHERE c.relnamespace = 'shard_0007'::regnamespace
             UNION ALL
            SELECT concat_ws(' ', attrelid::regclass, attname, 'NOT NULL') FROM pg_attribute
             WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'shard_0007'::regnamespace) AND attnum > 0 AND attnotnull
             ORDER BY 1
            """;

    /** Those that are built again get new numbers, and only those. */
    private static final String KEPT = """
            SELECT conname FROM pg_constraint
             WHERE oid = ANY (?::oid[]) AND contype <> 'n' ORDER BY 1""";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private TestDatabase from;
    private TestDatabase to;
    private Connection target;

    @BeforeEach
    void create() throws SQLException {
        from = postgres.database(0);
        to = postgres.database(1);
        target = to.connect();
        try (Connection source = from.connect()) {
            Sql.execute(source, SCHEMA);
            Sql.execute(source, """
                    INSERT INTO place SELECT n, 'p' || n FROM generate_series(1, 10) n;
                    INSERT INTO album SELECT n, 'album ' || n % 7 FROM generate_series(1, 100) n;
                    INSERT INTO photo SELECT n, n % 5, 'photo ' || n, 1 + n % 100, 1 + n % 10 FROM generate_series(1, 2000) n;
                    INSERT INTO item SELECT generate_series(1, 1000);
                    INSERT INTO special SELECT generate_series(1001, 2000);
                    INSERT INTO node SELECT n, 1 + n / 2, 'node ' || n FROM generate_series(1, 100) n
                    """);
        }
        Sql.execute(target, SCHEMA + "RESET search_path");
    }

    @AfterEach
    void drop() throws SQLException {
        Sql.execute(target, "DROP SCHEMA shard_0007 CASCADE");
        target.close();
        try (Connection source = from.connect()) {
            Sql.execute(source, "DROP SCHEMA shard_0007 CASCADE");
        }
    }

    private void copy(long bytes) throws SQLException {
        copy(bytes, TABLES, (more, rows, size) -> {});
    }

    private void copy(long bytes, List<String> tables, TableCopy.Progress progress) throws SQLException {
        try (Connection reader = from.connect();
                Connection writer = to.connect()) {
            reader.setAutoCommit(false);
            new ShardCopy(reader, writer, UNLIMITED).copy(7, bytes, tables, false, "", progress);
        }
    }

    /** Copies in parts of a page, as far as wanted, and returns which were to be copied. */
    private List<PartedCopy.Part> copyParts(int wanted) throws SQLException {
        return copyParts(wanted, Integer.MAX_VALUE);
    }

    /** The same, and ends the copy after so many indexes if those are not all. */
    private List<PartedCopy.Part> copyParts(int wanted, int indexes) throws SQLException {
        try (Connection reader = from.connect();
                Connection writer = to.connect()) {
            reader.setAutoCommit(false);
            PartedCopy copy = new PartedCopy(reader, writer, UNLIMITED, "");
            List<SplitTable> tables = copy.split(TABLES, PAGE);
            assertThat(copy.isParted(tables)).isTrue();
            PartedCopy.PartedShard shard = copy.begin(7, LARGE, tables, (more, rows, size) -> {});
            for (PartedCopy.Part part :
                    shard.parts().subList(0, Math.min(wanted, shard.parts().size()))) {
                copy.copy(part, (more, rows, size) -> {});
            }
            if (wanted >= shard.parts().size()) {
                List<String> missing = copy.indexes(shard);
                for (String index : missing.subList(0, Math.min(indexes, missing.size()))) {
                    copy.build(index);
                }
                if (indexes >= missing.size()) {
                    copy.end(shard);
                }
            }
            return shard.parts();
        }
    }

    private List<String> definitions() throws SQLException {
        return Sql.list(target, DEFINITIONS, row -> row.getString(1));
    }

    private String oids() throws SQLException {
        return Sql.text(
                target,
                "SELECT array_agg(oid ORDER BY oid) FROM pg_constraint WHERE connamespace = 'shard_0007'::regnamespace");
    }

    @Test
    void aLargeShardHasTheSameIndexesAndConstraintsAfterwards() throws SQLException {
        List<String> before = definitions();
        String oids = oids();

        copy(LARGE);

        assertThat(definitions()).isEqualTo(before);
        assertThat(Sql.number(target, "SELECT count(*) FROM shard_0007.photo")).isEqualTo(2000);
        assertThat(Sql.number(
                        target, "SELECT reltuples::bigint FROM pg_class WHERE oid = 'shard_0007.photo'::regclass"))
                .isEqualTo(2000);
        // Depended upon, with a comment, with an option, or an exclusion constraint.
        assertThat(Sql.list(target, KEPT, row -> row.getString(1), oids))
                .containsExactly("Place key", "album_pkey", "photo_id_excl", "title");
    }

    @Test
    void aForeignKeyIsInForceAfterwards() throws SQLException {
        copy(LARGE);

        assertThatExceptionOfType(SQLException.class)
                .isThrownBy(() -> Sql.execute(target, "INSERT INTO shard_0007.photo VALUES (5000, 9, 'another', 500)"))
                .withMessageContaining("photo_album_fkey");
    }

    @Test
    void aSmallShardKeepsThem() throws SQLException {
        String oids = oids();

        copy(1000);

        assertThat(oids()).isEqualTo(oids);
        assertThat(Sql.number(target, "SELECT count(*) FROM shard_0007.photo")).isEqualTo(2000);
    }

    /** Compressed by TOAST, a table is much smaller than what is sent of it. */
    @Test
    void progressIsByRows() throws SQLException {
        String document = "CREATE TABLE shard_0007.document (id bigint PRIMARY KEY, text text)";
        long size;
        try (Connection source = from.connect()) {
            Sql.execute(
                    source,
                    document
                            + "; INSERT INTO shard_0007.document SELECT n, repeat(md5(n::text), 1500) FROM generate_series(1, 600) n"
                            + "; ANALYZE shard_0007.document");
            size = Sql.number(source, "SELECT pg_table_size('shard_0007.document')");
        }
        Sql.execute(target, document);
        List<Long> sizes = new ArrayList<>();
        List<Long> sent = new ArrayList<>();
        copy(size, List.of("shard_0007.document"), (more, rows, part) -> {
            sent.add(more);
            sizes.add(part);
        });

        int half = sizes.size() / 2;
        assertThat(sum(sent)).isGreaterThan(5 * size);
        assertThat(sum(sizes.subList(0, half)))
                .as("of %s, when half is sent", size)
                .isBetween(size * 4 / 10, size * 6 / 10);
        assertThat(sum(sizes)).isEqualTo(size);
    }

    private static long sum(List<Long> values) {
        return values.stream().mapToLong(Long::longValue).sum();
    }

    @Test
    void namesRowsThatBreakAForeignKeyAndLeavesTheTargetAsItWas() throws SQLException {
        try (Connection source = from.connect()) {
            Sql.execute(
                    source,
                    "SET session_replication_role = replica; INSERT INTO shard_0007.photo VALUES (5000, 9, 'lost', 500)");
        }
        List<String> before = definitions();

        assertThatExceptionOfType(MoveException.class)
                .isThrownBy(() -> copy(LARGE))
                .withMessageContainingAll("shard 7", "photo_album_fkey", "(album)=(500)", "run the same command again");
        assertThat(definitions()).isEqualTo(before);
        assertThat(Sql.number(target, "SELECT count(*) FROM shard_0007.photo")).isZero();
    }

    @Test
    void aShardThatWasCopiedInPartsHasTheSameIndexesAndConstraintsAfterwards() throws SQLException {
        List<String> before = definitions();

        List<PartedCopy.Part> parts = copyParts(Integer.MAX_VALUE);

        assertThat(parts).hasSizeGreaterThan(10);
        assertThat(definitions()).isEqualTo(before);
        assertThat(rows(to)).isEqualTo(rows(from));
        assertThat(Sql.number(
                        target, "SELECT reltuples::bigint FROM pg_class WHERE oid = 'shard_0007.photo'::regclass"))
                .isEqualTo(2000);
        assertThat(copyParts(Integer.MAX_VALUE)).as("all are there").isEmpty();
        assertThat(definitions()).isEqualTo(before);
    }

    /** Keys are indexes then, and no constraints yet. */
    @ParameterizedTest
    @ValueSource(ints = {0, 2, 4})
    void indexesThatAreThereAreKept(int indexes) throws SQLException {
        List<String> before = definitions();
        copyParts(Integer.MAX_VALUE, indexes);
        assertThat(definitions()).isNotEqualTo(before);
        String there =
                "SELECT oid::text FROM pg_class WHERE relkind = 'i' AND relnamespace = 'shard_0007'::regnamespace";
        List<String> kept = Sql.list(target, there, row -> row.getString(1));

        assertThat(copyParts(Integer.MAX_VALUE)).isEmpty();

        assertThat(definitions()).isEqualTo(before);
        assertThat(Sql.list(target, there, row -> row.getString(1)))
                .hasSizeGreaterThan(kept.size())
                .containsAll(kept);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, LARGE})
    void aShardWithSomeOfItsIndexesIsCopiedWhole(long bytes) throws SQLException {
        List<String> before = definitions();
        copyParts(Integer.MAX_VALUE, 4);

        try (Connection reader = from.connect()) {
            reader.setAutoCommit(false);
            new ShardCopy(reader, target, UNLIMITED).copy(7, bytes, TABLES, true, "", (more, rows, size) -> {});
        }

        assertThat(definitions()).isEqualTo(before);
        assertThat(rows(to)).isEqualTo(rows(from));
    }

    @Test
    void aShardWithSomeOfItsIndexesIsCopiedAgainInParts() throws SQLException {
        List<String> before = definitions();
        copyParts(Integer.MAX_VALUE, 4);
        try (Connection source = from.connect()) {
            Sql.execute(source, "UPDATE shard_0007.photo SET title = 'other' WHERE id = 1");
        }

        assertThat(copyParts(Integer.MAX_VALUE)).hasSize(1);

        assertThat(definitions()).isEqualTo(before);
        assertThat(rows(to)).isEqualTo(rows(from));
    }

    @Test
    void partsThatAreThereAreKeptUnlessTheyHaveChanged() throws SQLException {
        List<String> before = definitions();
        PartedCopy.Part first = copyParts(6).get(2);
        assertThat(first.table().table().name()).isEqualTo("shard_0007.photo");
        assertThat(definitions()).as("meanwhile").hasSizeLessThan(before.size());
        Sql.execute(target, "CREATE TABLE shard_0007.seen AS SELECT id, xmin::text AS version FROM shard_0007.photo");
        String kept =
                "SELECT count(*) FROM shard_0007.seen JOIN shard_0007.photo USING (id) WHERE version = photo.xmin::text AND ";
        String ofFirst = "id < " + first.table().bounds().get(0);
        String ofOthers = "NOT " + ofFirst;
        try (Connection source = from.connect()) {
            Sql.execute(source, "UPDATE shard_0007.photo SET title = 'other' WHERE id = 1");
        }

        Sql.execute(target, "CREATE PUBLICATION everything FOR ALL TABLES"); // which needs a key for what is deleted

        copyParts(Integer.MAX_VALUE);

        Sql.execute(target, "DROP PUBLICATION everything");
        assertThat(rows(to)).isEqualTo(rows(from));
        assertThat(Sql.number(target, kept + ofFirst)).isZero();
        assertThat(Sql.number(target, kept + ofOthers))
                .isGreaterThan(100)
                .isEqualTo(Sql.number(target, "SELECT count(*) FROM shard_0007.seen WHERE " + ofOthers));
        Sql.execute(target, "DROP TABLE shard_0007.seen");
        assertThat(definitions()).isEqualTo(before);
    }

    @Test
    void aChangedTableIsCopiedAgainWithoutThoseThatInheritFromIt() throws SQLException {
        copyParts(Integer.MAX_VALUE);
        try (Connection source = from.connect()) {
            Sql.execute(source, "DELETE FROM ONLY shard_0007.item WHERE id < 1000");
        }

        assertThat(copyParts(Integer.MAX_VALUE))
                .extracting(part -> part.table().table().name())
                .containsExactly("shard_0007.item");

        assertThat(rows(to)).isEqualTo(rows(from));
    }

    @Test
    void aRoleThatMayNotActAsReplicationHasNoParts() throws SQLException {
        try (Connection reader = from.connect()) {
            reader.setAutoCommit(false);
            PartedCopy copy = new PartedCopy(reader, target, UNLIMITED, "");
            List<SplitTable> tables = copy.split(TABLES, PAGE);
            assertThat(copy.isParted(tables)).isTrue();
            Sql.execute(target, "CREATE ROLE plain_copier; SET ROLE plain_copier");

            assertThat(copy.isParted(tables)).isFalse();

            Sql.execute(target, "RESET ROLE; DROP ROLE plain_copier");
        }
    }

    @Test
    void aTableWhoseRowsAreNotInTheOrderOfTheKeyIsOnePart() throws SQLException {
        try (Connection source = from.connect()) {
            Sql.execute(source, "TRUNCATE shard_0007.photo");
            Sql.execute(
                    source,
                    "INSERT INTO shard_0007.photo SELECT n, n % 5, 'photo ' || n, 1 + n % 100, 1 + n % 10 FROM generate_series(1, 2000) n ORDER BY md5(n::text)");
            source.setAutoCommit(false);
            TableCopy.Table table = new TableCopy(source, target, UNLIMITED).table("shard_0007.photo");

            assertThat(SplitTable.of(source, table, PAGE).parts()).isOne();
            assertThat(SplitTable.of(source, table, PAGE).condition(0)).isEqualTo("true");
        }
    }

    private static List<String> rows(TestDatabase database) throws SQLException {
        try (Connection connection = database.connect()) {
            return Sql.list(
                    connection,
                    "SELECT p::text FROM shard_0007.photo p UNION ALL SELECT a::text FROM shard_0007.album a UNION ALL SELECT n::text FROM shard_0007.node n UNION ALL SELECT i::text FROM ONLY shard_0007.item i UNION ALL SELECT s::text FROM shard_0007.special s ORDER BY 1",
                    row -> row.getString(1));
        }
    }
}
