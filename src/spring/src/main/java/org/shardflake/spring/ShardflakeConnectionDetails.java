/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/** The location of the catalog, if something other than the properties provides it, such as a container in a test. */
public interface ShardflakeConnectionDetails extends ConnectionDetails {

    /** The value in place of {@code shardflake.catalog}. */
    String catalog();

    /** The value in place of {@code shardflake.username}. */
    default @Nullable String username() {
        return null;
    }

    /** The value in place of {@code shardflake.password}. */
    default @Nullable String password() {
        return null;
    }
}
