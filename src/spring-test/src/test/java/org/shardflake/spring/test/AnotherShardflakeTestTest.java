/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.shardflake.router.ShardRouter;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;

/** On the servers of the other tests, with shards of its own, of an application that runs on one database; the changelog is a file. */
@SpringBootTest(properties = "shardflake.enabled=false")
@ShardflakeTest(value = "src/test/resources/db/photos.sql", shards = 3, servers = 1)
class AnotherShardflakeTestTest {

    @Autowired
    private PhotoService photos;

    @Autowired
    private ShardRouter router;

    @Test
    void hasWhatItAskedFor() {
        photos.add(4, "one");

        assertThat(photos.newest()).containsExactly("one");
        assertThat(router.map().servers()).hasSize(1);
        assertThat(router.map().sharding().shardCount()).isEqualTo(3);
    }
}
