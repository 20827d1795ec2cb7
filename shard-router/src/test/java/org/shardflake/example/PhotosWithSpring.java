/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.shardflake.ShardKey;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.RowMapper;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

/**
 * Photos by Spring's {@link JdbcTemplate}, over the connection of the router's transaction, so that work is run again when
 * its shard moves.
 */
final class PhotosWithSpring implements PhotoRepository {

    private static final RowMapper<Photo> PHOTO =
            (row, number) -> new Photo(row.getLong("id"), row.getLong("uid"), row.getString("title"));

    private static final ShardQuery<Photo> PHOTOS = ShardQuery.of(
            "SELECT id, uid, title FROM ${shard.schema}.photo",
            row -> new Photo(row.getLong("id"), row.getLong("uid"), row.getString("title")));

    private final ShardRouter router;

    PhotosWithSpring(ShardRouter router) {
        this.router = router;
    }

    @Override
    public long add(long uid, String title) {
        return router.write(
                uid,
                tx -> Objects.requireNonNull(jdbc(tx).queryForObject(
                                tx.sql("INSERT INTO ${shard.schema}.photo (uid, title) VALUES (?, ?) RETURNING id"),
                                Long.class,
                                uid,
                                title)));
    }

    @Override
    public Optional<Photo> find(long id) {
        return router.read(
                ShardKey.id(id),
                tx ->
                        jdbc(tx)
                                .query(
                                        tx.sql("SELECT id, uid, title FROM ${shard.schema}.photo WHERE id = ?"),
                                        PHOTO,
                                        id)
                                .stream()
                                .findFirst());
    }

    @Override
    public List<Photo> ofUser(long uid) {
        return router.read(
                uid,
                tx -> jdbc(tx).query(
                                tx.sql("SELECT id, uid, title FROM ${shard.schema}.photo WHERE uid = ? ORDER BY id"),
                                PHOTO,
                                uid));
    }

    @Override
    public List<Photo> findAll(List<Long> ids) {
        return List.copyOf(router.fetch(ids, PHOTOS).values());
    }

    @Override
    public List<Photo> newest(int limit) {
        return router.newest(limit, PHOTOS);
    }

    @Override
    public void like(long uid, long photoId) {
        router.run(uid, tx -> {
            tx.require(ShardKey.id(photoId));
            jdbc(tx).update(
                            tx.sql(
                                    "INSERT INTO ${shard.schema}.\"like\" (uid, photo_id) VALUES (?, ?) ON CONFLICT DO NOTHING"),
                            uid,
                            photoId);
        });
    }

    private static JdbcTemplate jdbc(ShardTransaction tx) {
        return new JdbcTemplate(new SingleConnectionDataSource(tx.connection(), true));
    }
}
