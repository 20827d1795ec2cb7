/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example;

import java.util.List;
import java.util.Optional;

/** The photos of users, in the shards of their users. */
interface PhotoRepository {

    /** Adds a photo and returns its id. */
    long add(long uid, String title);

    Optional<Photo> find(long id);

    /** The photos of a user, the oldest first. */
    List<Photo> ofUser(long uid);

    /** Photos of many users, in the order of the ids; an id without a photo is left out. */
    List<Photo> findAll(List<Long> ids);

    /** The newest photos of all users, the newest first. */
    List<Photo> newest(int limit);

    /**
     * Keeps that a user likes a photo, in the shard of that user, where the photo must be too; to like it twice changes
     * nothing.
     *
     * @throws org.shardflake.router.exception.CrossShardException if the photo is in another shard
     */
    void like(long uid, long photoId);
}
