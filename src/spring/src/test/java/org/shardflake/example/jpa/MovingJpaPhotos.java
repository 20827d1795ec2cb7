/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.jpa;

import org.shardflake.spring.MovingPhotos;
import org.shardflake.spring.OnShard;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.transaction.annotation.Transactional;

/** By a repository: an insert, and an update when the transaction commits. */
@Transactional
public class MovingJpaPhotos implements MovingPhotos {

    private final Photos photos;

    MovingJpaPhotos(Photos photos) {
        this.photos = photos;
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import(MovingJpaPhotos.class)
    public static class Application {}

    @Override
    @OnShard("#uid")
    public long add(long uid, String title) {
        Photo photo = photos.saveAndFlush(new Photo(uid, "to be named"));
        photo.rename(title);
        return photo.id();
    }

    @Override
    @OnShard(id = "#id")
    public String title(long id) {
        return photos.findById(id).orElseThrow().title();
    }
}
