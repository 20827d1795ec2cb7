/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;

/** The guide's. */
@SpringBootTest
@ShardflakeTest("classpath:db/photos.sql")
class PhotoServiceTest {

    @Autowired
    PhotoService photos;

    @Test
    void aPhotoIsAmongTheNewest() {
        photos.add(42, "sunrise");

        assertThat(photos.newest()).containsExactly("sunrise");
    }
}
