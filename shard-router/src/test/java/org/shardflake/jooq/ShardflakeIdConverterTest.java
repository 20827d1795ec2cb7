/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jooq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.shardflake.example.generated.Tables.PHOTO;

import java.sql.SQLException;
import org.jooq.DataType;
import org.jooq.Field;
import org.jooq.Record1;
import org.jooq.Result;
import org.jooq.impl.DSL;
import org.jooq.impl.SQLDataType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeId;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.example.PhotoTables;
import org.shardflake.router.ShardRouter;
import org.shardflake.sql.FunctionLibrary;

class ShardflakeIdConverterTest {

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(2).prepareOnce("library", FunctionLibrary::deploy);

    private static final ShardflakeIdConverter CONVERTER = new ShardflakeIdConverter();

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

    @Test
    void generatedFieldIsConvertedWhereItIsUsed() {
        Field<ShardflakeId> photoId = PHOTO.ID.convert(CONVERTER);
        ShardflakeId id = jooq.<ShardflakeId, RuntimeException>write(
                9,
                dsl -> dsl.insertInto(PHOTO, PHOTO.UID, PHOTO.TITLE)
                        .values(9L, "harbour")
                        .returningResult(photoId)
                        .fetchSingle(photoId));

        assertThat(id.shard()).isEqualTo(1);
        assertThat(jooq.<String, RuntimeException>read(
                        ShardKey.id(id.value()),
                        dsl -> dsl.select(PHOTO.TITLE)
                                .from(PHOTO)
                                .where(photoId.eq(id))
                                .fetchSingle(PHOTO.TITLE)))
                .isEqualTo("harbour");
    }

    /** The data type that the generator writes for a forced type. */
    @Test
    void columnOfTheConvertedTypeTakesAndGivesIdsAndNull() {
        DataType<ShardflakeId> type = SQLDataType.BIGINT.asConvertedDataType(CONVERTER);
        Field<ShardflakeId> id = DSL.field("id", type);
        ShardflakeId given = ShardflakeId.of(499335931086511104L);

        Result<Record1<ShardflakeId>> rows = jooq.<Result<Record1<ShardflakeId>>, RuntimeException>read(
                ShardKey.uid(9),
                dsl -> dsl.select(id)
                        .from("(VALUES (499335931086511104), (7), (NULL)) AS photo (id)")
                        .where(id.in(given, ShardflakeId.of(8)).or(id.isNull()))
                        .orderBy(id.asc().nullsLast())
                        .fetch());

        assertThat(rows.getValues(id)).containsExactly(given, null);
    }
}
