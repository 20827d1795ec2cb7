/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import java.util.List;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;
import org.shardflake.spring.OnShard;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

@Service
public class PhotoService {

    private final JdbcClient jdbc;
    private final ShardRouter router;

    PhotoService(JdbcClient jdbc, ShardRouter router) {
        this.jdbc = jdbc;
        this.router = router;
    }

    @OnShard("#uid")
    @Transactional
    public long add(long uid, String title) {
        long id = jdbc.sql("INSERT INTO photo (uid, title) VALUES (?, ?) RETURNING id")
                .params(uid, title)
                .query(Long.class)
                .single();
        jdbc.sql("INSERT INTO liked VALUES (?, ?)").params(id, uid).update();
        return id;
    }

    public List<String> newest() {
        return router.newest(
                10, ShardQuery.of("SELECT id, title FROM ${shard.schema}.photo", row -> row.getString("title")));
    }
}
