/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.shardflake.IdLayout;
import org.shardflake.ShardKey;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.exception.CrossShardException;

/** What every {@link PhotoRepository} does, on 8 empty shards over two servers. */
interface PhotoRepositoryContract {

    ShardRouter router();

    PhotoRepository photos();

    @Test
    default void addsAPhotoInTheShardOfItsUser() {
        long id = photos().add(11, "a harbour");

        assertThat(IdLayout.shard(id)).isEqualTo(3);
        assertThat(photos().find(id)).contains(new Photo(id, 11, "a harbour"));
    }

    @Test
    default void findsNothingForAnUnknownId() {
        long id = photos().add(11, "a harbour");

        assertThat(photos().find(id + 8192 * 1024L)).isEmpty();
    }

    @Test
    default void listsThePhotosOfAUser() {
        long first = photos().add(11, "a harbour");
        photos().add(3, "of another user in the same shard");
        long second = photos().add(11, "a hill");

        assertThat(photos().ofUser(11))
                .containsExactly(new Photo(first, 11, "a harbour"), new Photo(second, 11, "a hill"));
        assertThat(photos().ofUser(12)).isEmpty();
    }

    @Test
    default void findsPhotosOfBothServersInTheOrderOfIds() {
        long one = photos().add(1, "one");
        long two = photos().add(2, "two");
        long three = photos().add(3, "three");

        assertThat(router().locate(ShardKey.id(one)).server())
                .isNotEqualTo(router().locate(ShardKey.id(two)).server());
        assertThat(photos().findAll(List.of(three, one, two)))
                .extracting(Photo::title)
                .containsExactly("three", "one", "two");
        assertThat(photos().findAll(List.of())).isEmpty();
    }

    @Test
    default void listsTheNewestOfAllShards() throws InterruptedException {
        for (int uid = 0; uid < 16; uid++) {
            photos().add(uid, "photo " + uid);
            // Ids of different shards are in the order of their milliseconds.
            Thread.sleep(2);
        }

        assertThat(photos().newest(3)).extracting(Photo::title).containsExactly("photo 15", "photo 14", "photo 13");
    }

    @Test
    default void likesAPhotoOfTheSameShardOnce() throws SQLException {
        long id = photos().add(11, "a harbour");

        photos().like(3, id);
        photos().like(3, id);

        assertThat(PhotoTables.likes(router(), id)).isEqualTo(1);
    }

    @Test
    default void refusesToLikeAPhotoOfAnotherShard() {
        long id = photos().add(11, "a harbour");

        assertThatExceptionOfType(CrossShardException.class).isThrownBy(() -> photos().like(4, id));
    }
}
