/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.map;

import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * The login for all servers and the catalog.
 *
 * @param user null for the user in each URL
 */
public record Login(@Nullable String user, @Nullable String password) {

    public void on(PGSimpleDataSource source) {
        if (user != null) {
            source.setUser(user);
            source.setPassword(password);
        }
    }

    /** Omits the password. */
    @Override
    public String toString() {
        return "Login[user=%s]".formatted(user);
    }
}
