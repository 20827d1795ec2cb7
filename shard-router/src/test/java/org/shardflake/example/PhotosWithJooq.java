/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example;

import static org.shardflake.example.generated.Tables.LIKE;
import static org.shardflake.example.generated.Tables.PHOTO;

import java.util.List;
import java.util.Optional;
import org.shardflake.ShardKey;
import org.shardflake.example.generated.tables.records.PhotoRecord;
import org.shardflake.jooq.JooqRouter;
import org.shardflake.router.ShardRouter;

/** Photos of users by jOOQ, with code generated from schema {@code app}. */
final class PhotosWithJooq implements PhotoRepository {

    private final ShardRouter router;
    private final JooqRouter jooq;

    PhotosWithJooq(ShardRouter router) {
        this.router = router;
        this.jooq = new JooqRouter(router, "app");
    }

    @Override
    public long add(long uid, String title) {
        return jooq.write(
                uid,
                dsl -> dsl.insertInto(PHOTO, PHOTO.UID, PHOTO.TITLE)
                        .values(uid, title)
                        .returning(PHOTO.ID)
                        .fetchSingle(PHOTO.ID));
    }

    @Override
    public Optional<Photo> find(long id) {
        return jooq.read(
                ShardKey.id(id),
                dsl -> dsl.fetchOptional(PHOTO, PHOTO.ID.eq(id)).map(PhotosWithJooq::photo));
    }

    @Override
    public List<Photo> ofUser(long uid) {
        return jooq.read(
                uid,
                dsl -> dsl.selectFrom(PHOTO)
                        .where(PHOTO.UID.eq(uid))
                        .orderBy(PHOTO.ID)
                        .fetch(PhotosWithJooq::photo));
    }

    @Override
    public List<Photo> findAll(List<Long> ids) {
        return jooq.fetch(ids, PHOTO).values().stream()
                .map(PhotosWithJooq::photo)
                .toList();
    }

    @Override
    public List<Photo> newest(int limit) {
        return jooq.newest(limit, PHOTO).stream().map(PhotosWithJooq::photo).toList();
    }

    @Override
    public void like(long uid, long photoId) {
        router.run(uid, tx -> {
            tx.require(ShardKey.id(photoId));
            jooq.dsl(tx)
                    .insertInto(LIKE, LIKE.UID, LIKE.PHOTO_ID)
                    .values(uid, photoId)
                    .onConflictDoNothing()
                    .execute();
        });
    }

    private static Photo photo(PhotoRecord photo) {
        return new Photo(photo.getId(), photo.getUid(), photo.getTitle());
    }
}
