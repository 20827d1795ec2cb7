/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.RowOrder;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;

/** Deployment, router and moves in a JVM whose default locale has other digits, or maps i to another capital. */
@Tag("full")
class LocalesIT {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private final Locale before = Locale.getDefault();

    @TempDir
    Path directory;

    @AfterEach
    void restore() {
        Locale.setDefault(before);
    }

    @ParameterizedTest
    @ValueSource(strings = {"de-DE", "fa-IR-u-nu-arabext", "tr-TR"})
    void shardsAreDeployedReadAndMoved(String locale) throws Exception {
        Locale.setDefault(Locale.forLanguageTag(locale));
        AccountShards shards = AccountShards.bare(postgres);
        shards.deploy(4, directory, Files.writeString(directory.resolve("items.sql"), """
                --liquibase formatted sql
                --changeset ann:item
                CREATE TABLE item (id bigint PRIMARY KEY, uid bigint NOT NULL, price double precision, title text);
                CREATE INDEX item_title ON item (title);
                """));
        ShardQuery<Long> items = ShardQuery.of("SELECT id, price FROM ${shard.schema}.item", row -> row.getLong("id"));
        ShardSet moving = ShardSet.parse("1-2");
        try (ShardRouter router = shards.router().build()) {
            for (long uid = 0; uid < 40; uid++) {
                long user = uid;
                router.run(
                        user,
                        tx -> tx.connection()
                                .createStatement()
                                .execute(tx.sql(
                                        "INSERT INTO ${shard.schema}.item (uid, price, title) VALUES (%s, %s / 3.0, 'I i')"
                                                .formatted(user, user))));
            }

            Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
            Move move = mover.record("db1", "db2", moving, "a test");
            mover.follow(move.id());
            assertThat(mover.verify(move.id(), moving)).isEmpty();
            mover.cutOver(move.id(), moving);
            mover.reverse(move.id(), ShardSet.of(1));
            mover.cutOver(move.id(), moving);
            mover.complete(move.id());

            List<Long> each = new ArrayList<>();
            router.forEach(items, each::add);
            assertThat(each).hasSize(40).doesNotHaveDuplicates();
            assertThat(router.newest(40, items)).hasSize(40);
            assertThat(router.top(40, RowOrder.by("id", id -> id), items)).hasSize(40);
            assertThat(router.count(items)).isEqualTo(40);
        }
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0001.item")).isEqualTo(10);
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    /** Or the SQL would be in error, without a word of the locale. */
    @Test
    void aDateThatLiquibaseCannotWriteIsRefused() throws Exception {
        Locale.setDefault(Locale.forLanguageTag("ar-EG"));
        Path changelog = Files.writeString(directory.resolve("app.yaml"), """
                databaseChangeLog:
                  - changeSet:
                      id: 1
                      author: ann
                      changes:
                        - addColumn:
                            tableName: account
                            columns:
                              - column: {name: born, type: date, defaultValueDate: "2001-02-03"}
                """);

        assertThatThrownBy(() -> AccountShards.bare(postgres).deploy(4, directory, changelog))
                .hasMessageContaining(
                        "app.yaml::1::ann: Liquibase writes no date with the digits of the JVM's default locale ar_EG");
    }
}
