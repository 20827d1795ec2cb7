/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.sqltext;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which statements are given the shard's schema, and which need the search_path. A table {@code x.} stands for the schema. */
class TableNamesTest {

    /** Tables that are also named like columns, functions and words of SQL. */
    private static final ShardNames NAMES = new ShardNames(
            Set.of("photo", "tag", "like", "order", "Mixed", "photo_id_seq"), Set.of("mood", "next_id", "upper"), true);

    private static @Nullable String in(String sql) {
        return TableNamesReader.read(sql)
                .map(names -> Optional.ofNullable(names.in("x", NAMES)))
                .orElse(Optional.empty())
                .orElse(null);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            SELECT title FROM photo WHERE id = ? | SELECT title FROM x.photo WHERE id = ?
            select p.title, p.* from Photo p where p.title = 'from photo' | select p.title, p.* from x.Photo p where p.title = 'from photo'
            SELECT photo.title FROM photo, "like" l WHERE l.photo_id = photo.id | SELECT photo.title FROM x.photo, x."like" l WHERE l.photo_id = photo.id
            SELECT 1 FROM photo a LEFT JOIN ONLY "Mixed" b ON a.id = b.id CROSS JOIN (SELECT 2 FROM "order") c, photo d | SELECT 1 FROM x.photo a LEFT JOIN ONLY x."Mixed" b ON a.id = b.id CROSS JOIN (SELECT 2 FROM x."order") c, x.photo d
            SELECT 1 FROM (photo a JOIN tag b USING (id)) ORDER BY a.id, b.id LIMIT ? | SELECT 1 FROM (x.photo a JOIN x.tag b USING (id)) ORDER BY a.id, b.id LIMIT ?
            SELECT 1 FROM photo p WHERE EXISTS (SELECT 1 FROM tag t WHERE t.id = p.id) FOR NO KEY UPDATE | SELECT 1 FROM x.photo p WHERE EXISTS (SELECT 1 FROM x.tag t WHERE t.id = p.id) FOR NO KEY UPDATE
            SELECT extract(year FROM now()), trim(both FROM p.title), a IS NOT DISTINCT FROM b FROM photo p | SELECT extract(year FROM now()), trim(both FROM p.title), a IS NOT DISTINCT FROM b FROM x.photo p
            SELECT coalesce((SELECT max(t.id) FROM tag t), 0) FROM photo p | SELECT coalesce((SELECT max(t.id) FROM x.tag t), 0) FROM x.photo p
            INSERT INTO photo (uid, title) VALUES (?, lower(?)) RETURNING id | INSERT INTO x.photo (uid, title) VALUES (?, lower(?)) RETURNING id
            INSERT INTO photo SELECT * FROM tag t ON CONFLICT (id) DO UPDATE SET n = photo.n + 1 | INSERT INTO x.photo SELECT * FROM x.tag t ON CONFLICT (id) DO UPDATE SET n = photo.n + 1
            UPDATE photo p SET title = ?, n = 1 FROM tag t WHERE t.id = p.id | UPDATE x.photo p SET title = ?, n = 1 FROM x.tag t WHERE t.id = p.id
            DELETE FROM photo USING tag t, "like" WHERE t.id = photo.id | DELETE FROM x.photo USING x.tag t, x."like" WHERE t.id = photo.id
            WITH RECURSIVE a AS (SELECT 1 FROM photo), b (c) AS MATERIALIZED (DELETE FROM tag RETURNING 1) SELECT * FROM a, b, photo | WITH RECURSIVE a AS (SELECT 1 FROM x.photo), b (c) AS MATERIALIZED (DELETE FROM x.tag RETURNING 1) SELECT * FROM a, b, x.photo
            WITH a AS (SELECT 1) UPDATE photo SET n = 1 FROM a | WITH a AS (SELECT 1) UPDATE x.photo SET n = 1 FROM a
            SELECT 1 FROM unnest(?) WITH ORDINALITY u, photo p | SELECT 1 FROM unnest(?) WITH ORDINALITY u, x.photo p
            /* a comment */ SELECT * FROM photo UNION ALL SELECT * FROM tag | /* a comment */ SELECT * FROM x.photo UNION ALL SELECT * FROM x.tag
            SELECT * FROM public.photo, shard_0001.tag | SELECT * FROM public.photo, shard_0001.tag
            (SELECT x FROM photo) UNION SELECT x FROM tag | (SELECT x FROM x.photo) UNION SELECT x FROM x.tag
            SELECT pg_backend_pid() | SELECT pg_backend_pid()
            SELECT shardflake.id_shard(p.id), p.a::numeric(10,2), CAST(p.b AS varchar(5)) FROM photo p ORDER BY 1 | SELECT shardflake.id_shard(p.id), p.a::numeric(10,2), CAST(p.b AS varchar(5)) FROM x.photo p ORDER BY 1
            """)
    void qualifiesEveryTable(String sql, String qualified) {
        assertThat(in(sql)).isEqualTo(qualified);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "SELECT tag FROM photo", // a column, or the row of a table
                "SELECT * FROM photo tag",
                "SELECT * FROM elsewhere, photo",
                "WITH photo AS (SELECT 1) SELECT * FROM photo",
                "SELECT ?::mood FROM photo",
                "SELECT NULL::photo FROM photo",
                "SELECT CAST(? AS \"like\") FROM photo",
                "SELECT ?::like FROM photo",
                "SELECT mood 'sad' FROM photo p",
                "SELECT upper(p.title) FROM photo p", // the shard's own
                "SELECT next_id() FROM photo p",
                "SELECT my_function(p.id) FROM photo p",
                "SELECT my_function /* */ (p.id) FROM photo p",
                "SELECT public.my_function(p.id) FROM photo p",
                "SELECT nextval('photo_id_seq')",
                "SELECT ?::regclass",
                "SELECT regclass 'photo'",
                "SELECT current_schema",
                "SELECT current_setting('search_path')",
                "SELECT shardflake.next_id(7, 'photo_id_seq')",
                "SELECT 1 OPERATOR(public.+) 1",
                "SELECT * INTO tag FROM photo",
                "SELECT x FROM photo; SELECT 1",
                "SELECT * FROM ROWS FROM (unnest(?)) r, photo",
                "SELECT 'a\\' FROM photo p",
                "SELECT U&\"photo\" FROM photo p",
                "SELECT $$ from $$ FROM photo p",
                "SELECT {fn now()} FROM photo p",
                "SELECT coalesce(a FROM photo)",
                "SELECT x FROM photö",
                "TABLE photo",
                "MERGE INTO photo USING tag ON true WHEN MATCHED THEN DELETE",
                "SELECT x FROM photo WHERE (y",
                "SELECT x FROM",
                "EXPLAIN SELECT x FROM photo",
                ""
            })
    void leavesTheRestToTheSearchPath(String sql) {
        assertThat(in(sql)).isNull();
    }

    @Test
    void leavesAShardWithOperatorsAndTheLikeToTheSearchPath() {
        ShardNames odd = new ShardNames(NAMES.tables(), NAMES.others(), false);

        assertThat(TableNamesReader.read("SELECT id FROM photo").orElseThrow().in("x", odd))
                .isNull();
    }
}
