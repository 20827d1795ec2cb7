/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.util.List;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

@Service
@OnShard("#uid")
@Transactional
public class PhotoService {

    private final JdbcClient jdbc;

    PhotoService(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    public long add(long uid, String title) {
        return jdbc.sql("INSERT INTO photo (uid, title) VALUES (?, ?) RETURNING id")
                .params(uid, title)
                .query(Long.class)
                .single();
    }

    @Transactional(readOnly = true)
    public List<String> titles(long uid) {
        return jdbc.sql("SELECT title FROM photo WHERE uid = ? ORDER BY id")
                .param(uid)
                .query(String.class)
                .list();
    }

    @OnShard(id = "#photoId")
    public void rename(long photoId, String title) {
        jdbc.sql("UPDATE photo SET title = ? WHERE id = ?")
                .params(title, photoId)
                .update();
    }
}
