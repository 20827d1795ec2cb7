/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

@Service
@Transactional("old")
public class SettingService {

    private final JdbcClient jdbc;

    SettingService(@Qualifier("old") JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    public void set(String name, String content) {
        jdbc.sql("INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET content = EXCLUDED.content")
                .params(name, content)
                .update();
    }

    @Transactional(value = "old", readOnly = true)
    public String get(String name) {
        return jdbc.sql("SELECT content FROM settings WHERE name = ?")
                .param(name)
                .query(String.class)
                .single();
    }
}
