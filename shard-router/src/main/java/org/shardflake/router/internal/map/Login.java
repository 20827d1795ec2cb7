/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.map;

import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.server.PasswordSource;
import org.shardflake.server.ServerUrl;

/**
 * The login for all servers and the catalog.
 *
 * @param user null for the user in each URL
 * @param passwords asked at each new connection, instead of the password; null for none
 */
public record Login(
        @Nullable String user,
        @Nullable String password,
        @Nullable PasswordSource passwords) {

    /** A data source for a URL, with this login. */
    public PGSimpleDataSource source(ServerUrl url) {
        PGSimpleDataSource source = (passwords == null ? url : url.asking(passwords)).dataSource();
        if (user != null) {
            source.setUser(user);
            source.setPassword(password);
        }
        if (passwords != null) {
            source.setPassword(null);
        }
        return source;
    }

    /** Whether another try to log in may use another password. */
    public boolean isAsked() {
        return passwords != null;
    }

    /** Omits the password. */
    @Override
    public String toString() {
        return "Login[user=%s]".formatted(user);
    }
}
