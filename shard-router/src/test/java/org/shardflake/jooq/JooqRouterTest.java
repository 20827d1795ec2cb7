/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jooq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.shardflake.example.generated.Tables.LIKE;
import static org.shardflake.example.generated.Tables.PHOTO;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jooq.Configuration;
import org.jooq.DSLContext;
import org.jooq.exception.DataAccessException;
import org.jooq.impl.DSL;
import org.jooq.impl.DefaultConfiguration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.IdLayout;
import org.shardflake.ShardKey;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.example.PhotoTables;
import org.shardflake.example.generated.tables.records.PhotoRecord;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.exception.CrossShardException;
import org.shardflake.sql.FunctionLibrary;

class JooqRouterTest {

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(2).prepareOnce("library", FunctionLibrary::deploy);

    private static ShardRouter router;
    private static JooqRouter jooq;

    @BeforeAll
    static void start() throws SQLException {
        router = PhotoTables.create(postgres);
        jooq = new JooqRouter(router, GeneratedCode.TEMPLATE_SCHEMA);
    }

    @AfterAll
    static void close() {
        router.close();
    }

    @BeforeEach
    void empty() throws SQLException {
        PhotoTables.empty(router);
    }

    private static void execute(int server, String sql) throws SQLException {
        try (Connection connection = postgres.database(server).connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static long insert(DSLContext dsl, long uid, String title) {
        return dsl.insertInto(PHOTO, PHOTO.UID, PHOTO.TITLE)
                .values(uid, title)
                .returning(PHOTO.ID)
                .fetchSingle(PHOTO.ID);
    }

    @Test
    void sendsGeneratedCodeToTheSchemaOfTheShard() {
        long id = jooq.write(9, dsl -> insert(dsl, 9, "a photo"));

        assertThat(IdLayout.shard(id)).isEqualTo(1);
        assertThat(jooq.<String, RuntimeException>read(
                        ShardKey.id(id),
                        dsl -> dsl.select(PHOTO.TITLE).from(PHOTO).fetchSingle(PHOTO.TITLE)))
                .isEqualTo("a photo");
        assertThat(jooq.dsl(ShardKey.uid(9)).render(DSL.selectFrom(PHOTO))).contains("\"shard_0001\".\"photo\"");
        assertThat(jooq.dsl(ShardKey.uid(10)).fetchCount(PHOTO)).isZero();
    }

    @Test
    void storesANewRecordUnderAnIdOfTheShard() {
        PhotoRecord photo = jooq.write(9, dsl -> {
            PhotoRecord record = dsl.newRecord(PHOTO);
            record.setUid(9L);
            record.setTitle("stored");
            record.store();
            return record;
        });

        assertThat(IdLayout.shard(photo.getId())).isEqualTo(1);
    }

    @Test
    void usesARecordAfterItsTransactionWhereItIsAttachedTo() {
        PhotoRecord photo = jooq.write(9, dsl -> {
            insert(dsl, 9, "at first");
            return dsl.fetchSingle(PHOTO);
        });
        photo.setTitle("too late");
        assertThatThrownBy(photo::store).isInstanceOf(DataAccessException.class);

        photo.attach(jooq.dsl(ShardKey.id(photo.getId())).configuration());
        photo.setTitle("afterwards");
        photo.store();

        assertThat(jooq.newest(1, PHOTO)).extracting(PhotoRecord::getTitle).containsExactly("afterwards");
    }

    @Test
    void attachesNoRecordIfToldSo() {
        Configuration detached = new DefaultConfiguration();
        detached.settings().setAttachRecords(false);
        JooqRouter router = new JooqRouter(JooqRouterTest.router, GeneratedCode.TEMPLATE_SCHEMA, detached);

        PhotoRecord photo = router.write(9, dsl -> {
            insert(dsl, 9, "detached");
            return dsl.fetchSingle(PHOTO);
        });

        assertThat(photo.configuration()).isNull();
    }

    @Test
    void joinsUpdatesAndDeletesInAShard() {
        long id = jooq.write(9, dsl -> {
            long photo = insert(dsl, 9, "liked");
            dsl.insertInto(LIKE, LIKE.UID, LIKE.PHOTO_ID).values(15L, photo).execute();
            return photo;
        });

        assertThat(jooq.<Integer, RuntimeException>read(
                        9, dsl -> dsl.fetchCount(dsl.selectFrom(PHOTO.join(LIKE).on(LIKE.PHOTO_ID.eq(PHOTO.ID))))))
                .isEqualTo(1);
        PhotoRecord photo = jooq.write(9, dsl -> {
            PhotoRecord record = dsl.fetchSingle(PHOTO, PHOTO.ID.eq(id));
            record.setTitle("changed");
            record.store();
            return record;
        });
        assertThat(photo.getTitle()).isEqualTo("changed");
        assertThat(jooq.<Integer, RuntimeException>write(
                        9, dsl -> dsl.deleteFrom(LIKE).execute()))
                .isEqualTo(1);
    }

    @Test
    void rollsBackWhatThrows() {
        assertThatExceptionOfType(DataAccessException.class)
                .isThrownBy(() -> jooq.write(9, dsl -> {
                    insert(dsl, 9, "never");
                    return dsl.insertInto(LIKE, LIKE.UID, LIKE.PHOTO_ID)
                            .values(9L, 1L)
                            .execute();
                }));

        assertThat(jooq.dsl(ShardKey.uid(9)).fetchCount(PHOTO)).isZero();
    }

    @Test
    void runsAgainWhenTheShardIsFencedForAWhile() throws SQLException {
        execute(1, "SELECT shardflake.fence_shard(1)");
        AtomicInteger runs = new AtomicInteger();

        long id = jooq.write(9, dsl -> {
            if (runs.incrementAndGet() == 2) {
                unfence();
            }
            return insert(dsl, 9, "in the end");
        });

        assertThat(runs).hasValueGreaterThan(1);
        assertThat(jooq.dsl(ShardKey.id(id)).fetchExists(PHOTO, PHOTO.ID.eq(id)))
                .isTrue();
    }

    private static void unfence() {
        try {
            execute(1, "SELECT shardflake.unfence_shard(1)");
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void keepsToOneShardInATransaction() {
        assertThatExceptionOfType(CrossShardException.class)
                .isThrownBy(() -> jooq.write(9, dsl -> {
                    insert(dsl, 9, "never");
                    return jooq.dsl(ShardKey.uid(10)).fetchCount(PHOTO);
                }))
                .withMessageContaining("is in shard 2, but this transaction is of shard 1");
        router.run(9, tx -> assertThat(jooq.dsl(tx).fetchCount(PHOTO)).isZero());
    }

    @Test
    void fetchesRecordsOfManyIdsAndTheNewest() {
        List<Long> ids = new ArrayList<>();
        for (long uid = 0; uid < 20; uid++) {
            long user = uid;
            ids.add(jooq.write(user, dsl -> insert(dsl, user, "photo " + user)));
        }

        Map<Long, PhotoRecord> found = jooq.fetch(List.of(ids.get(13), ids.get(2)), PHOTO);

        assertThat(found.keySet()).containsExactly(ids.get(13), ids.get(2));
        assertThat(found.get(ids.get(13)))
                .returns("photo 13", PhotoRecord::getTitle)
                .returns(13L, PhotoRecord::getUid);
        List<Long> newestFirst = ids.stream().sorted(Comparator.reverseOrder()).toList();
        assertThat(jooq.newest(3, PHOTO)).extracting(PhotoRecord::getId).isEqualTo(newestFirst.subList(0, 3));
        assertThat(jooq.newestBefore(newestFirst.get(2), 2, PHOTO))
                .extracting(PhotoRecord::getId)
                .isEqualTo(newestFirst.subList(3, 5));
        assertThat(jooq.newest(2, PHOTO, PHOTO.UID.lt(5L)))
                .extracting(PhotoRecord::getTitle)
                .hasSize(2)
                .allSatisfy(title -> assertThat(title).matches("photo [0-4]"));
        assertThat(jooq.newestBefore(newestFirst.get(2), 1, PHOTO, PHOTO.ID.ne(newestFirst.get(3))))
                .extracting(PhotoRecord::getId)
                .containsExactly(newestFirst.get(4));
        assertThat(jooq.count(PHOTO, PHOTO.TITLE.like("photo 1_"))).isEqualTo(10);
    }

    @Test
    void aValueThatStandsForTheSchemaIsRefusedRatherThanReplaced() {
        assertThatThrownBy(() -> jooq.count(PHOTO, PHOTO.TITLE.eq("all of ${shard.schema}")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("${shard.schema}");
    }

    @Test
    void countsRowsWithoutIds() {
        jooq.write(9, dsl -> insert(dsl, 9, "one"));

        assertThat(jooq.count(
                        DSL.table(DSL.name("app", "photo")),
                        DSL.field("title", String.class).eq("one")))
                .isEqualTo(1);
    }

    @Test
    void refusesATableWithoutIds() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> jooq.newest(1, DSL.table("app.nothing")))
                .withMessage("table app.nothing has no column id, by which rows are found");
    }

    @Test
    void keepsTheConfigurationOfAShardAndTheSettingsGiven() {
        assertThat(jooq.dsl(ShardKey.uid(9)).configuration())
                .isSameAs(jooq.dsl(ShardKey.shard(1)).configuration());

        DefaultConfiguration quiet = new DefaultConfiguration();
        quiet.settings().setRenderFormatted(true);
        assertThat(new JooqRouter(router, GeneratedCode.TEMPLATE_SCHEMA, quiet)
                        .dsl(ShardKey.uid(9))
                        .render(DSL.selectFrom(PHOTO)))
                .contains("\n")
                .contains("shard_0001");
        assertThat(quiet.settings().getRenderMapping()).isNull();
    }
}
