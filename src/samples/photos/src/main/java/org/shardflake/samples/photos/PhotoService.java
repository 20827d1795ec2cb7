/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.photos;

import java.util.List;
import java.util.Optional;
import org.shardflake.ShardKey;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardflakeId;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;
import org.shardflake.spring.OnShard;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** Stores photos in the shard of the person who added them, together with their likes. */
@Service
public class PhotoService {

    private static final String PHOTOS = """
            SELECT photo.id, person.name, country.name AS country, photo.title,
                   (SELECT count(*) FROM ${shard.schema}.liked WHERE liked.photo_id = photo.id) AS likes
              FROM ${shard.schema}.photo JOIN ${shard.schema}.person ON person.uid = photo.uid
              JOIN reference.country ON country.code = person.country""";

    private final JdbcClient jdbc;
    private final ShardRouter router;
    private final ShardQuery<Photo> photos;

    PhotoService(JdbcClient jdbc, ShardRouter router) {
        this.jdbc = jdbc;
        this.router = router;
        this.photos = ShardQuery.of(
                PHOTOS,
                row -> photo(
                        row.getLong("id"),
                        row.getString("name"),
                        row.getString("country"),
                        row.getString("title"),
                        row.getLong("likes")));
    }

    /** Adds a photo of a person. */
    @OnShard("#person.uid")
    @Transactional
    public Photo add(Person person, String title) {
        long id = jdbc.sql("INSERT INTO photo (uid, title) VALUES (?, ?) RETURNING id")
                .params(person.uid(), title)
                .query(Long.class)
                .single();
        return photo(id, person.name(), person.country(), title, 0);
    }

    /** Likes a photo, once for each user; returns its likes, or empty if there is no such photo. */
    @OnShard(id = "#photoId")
    @Transactional
    public Optional<Long> like(ShardflakeId photoId, String user) {
        jdbc.sql("INSERT INTO liked (photo_id, name) SELECT id, ? FROM photo WHERE id = ? ON CONFLICT DO NOTHING")
                .params(user, photoId.value())
                .update();
        return jdbc.sql("SELECT (SELECT count(*) FROM liked WHERE photo_id = photo.id) FROM photo WHERE id = ?")
                .param(photoId.value())
                .query(Long.class)
                .optional();
    }

    /** The newest photos of all users. */
    public List<Photo> newest(int limit) {
        return router.newest(limit, photos);
    }

    private Photo photo(long id, String user, String country, String title, long likes) {
        ShardPlacement placement = router.locate(ShardKey.id(id));
        return new Photo(
                ShardflakeId.of(id),
                user,
                country,
                title,
                likes,
                placement.shard(),
                placement.server().name());
    }
}
