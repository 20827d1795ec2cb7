/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.shardflake.ShardKey;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;

/** Photos by plain JDBC. */
final class PhotosWithJdbc implements PhotoRepository {

    private static final ShardQuery<Photo> PHOTOS =
            ShardQuery.of("SELECT id, uid, title FROM ${shard.schema}.photo", PhotosWithJdbc::photo);

    private final ShardRouter router;

    PhotosWithJdbc(ShardRouter router) {
        this.router = router;
    }

    @Override
    public long add(long uid, String title) {
        try {
            return router.write(uid, tx -> {
                try (PreparedStatement insert = tx.connection()
                        .prepareStatement(
                                tx.sql("INSERT INTO ${shard.schema}.photo (uid, title) VALUES (?, ?) RETURNING id"))) {
                    insert.setLong(1, uid);
                    insert.setString(2, title);
                    try (ResultSet row = insert.executeQuery()) {
                        row.next();
                        return row.getLong(1);
                    }
                }
            });
        } catch (SQLException e) {
            throw new IllegalStateException("cannot add a photo of user " + uid, e);
        }
    }

    @Override
    public Optional<Photo> find(long id) {
        return select(ShardKey.id(id), "SELECT id, uid, title FROM ${shard.schema}.photo WHERE id = ?", id).stream()
                .findFirst();
    }

    @Override
    public List<Photo> ofUser(long uid) {
        return select(
                ShardKey.uid(uid), "SELECT id, uid, title FROM ${shard.schema}.photo WHERE uid = ? ORDER BY id", uid);
    }

    private List<Photo> select(ShardKey key, String sql, long parameter) {
        try {
            return router.read(key, tx -> {
                try (PreparedStatement select = tx.connection().prepareStatement(tx.sql(sql))) {
                    select.setLong(1, parameter);
                    try (ResultSet row = select.executeQuery()) {
                        List<Photo> photos = new ArrayList<>();
                        while (row.next()) {
                            photos.add(photo(row));
                        }
                        return photos;
                    }
                }
            });
        } catch (SQLException e) {
            throw new IllegalStateException("cannot read photos of " + key, e);
        }
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
        try {
            router.run(uid, tx -> {
                tx.require(ShardKey.id(photoId));
                try (PreparedStatement insert = tx.connection()
                        .prepareStatement(
                                tx.sql(
                                        "INSERT INTO ${shard.schema}.\"like\" (uid, photo_id) VALUES (?, ?) ON CONFLICT DO NOTHING"))) {
                    insert.setLong(1, uid);
                    insert.setLong(2, photoId);
                    insert.executeUpdate();
                }
            });
        } catch (SQLException e) {
            throw new IllegalStateException("user %s cannot like photo %s".formatted(uid, photoId), e);
        }
    }

    private static Photo photo(ResultSet row) throws SQLException {
        return new Photo(row.getLong("id"), row.getLong("uid"), row.getString("title"));
    }
}
