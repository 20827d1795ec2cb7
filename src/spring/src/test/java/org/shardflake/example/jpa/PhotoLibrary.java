/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.jpa;

import org.shardflake.spring.OnShard;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

@Service
@OnShard("#uid")
@Transactional
public class PhotoLibrary {

    private final Photos photos;

    PhotoLibrary(Photos photos) {
        this.photos = photos;
    }

    public Photo add(long uid, String title) {
        return photos.save(new Photo(uid, title));
    }

    @OnShard(id = "#id")
    public Photo rename(long id, String title) {
        Photo photo = photos.findById(id).orElseThrow();
        photo.rename(title);
        return photo;
    }
}
