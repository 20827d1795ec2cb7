/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import java.util.Optional;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.jdbc.core.simple.JdbcClient;

/** The users' e-mail addresses and the ids of new users: a table and a sequence that stay in the old database. */
class Logins {

    private final JdbcClient old;

    Logins(@Qualifier("old") JdbcClient old) {
        this.old = old;
    }

    public long newUser(String email) {
        return old.sql("INSERT INTO logins (email, user_id) VALUES (?, nextval('users_id_seq')) RETURNING user_id")
                .param(email)
                .query(Long.class)
                .single();
    }

    public Optional<Long> find(String email) {
        return old.sql("SELECT user_id FROM logins WHERE email = ?")
                .param(email)
                .query(Long.class)
                .optional();
    }
}
