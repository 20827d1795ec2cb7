/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/** Where the catalog is, if something else than the properties knows, such as a container in a test. */
public interface ShardflakeConnectionDetails extends ConnectionDetails {

    /** What {@code shardflake.catalog} would be. */
    String catalog();

    /** What {@code shardflake.username} would be. */
    default @Nullable String username() {
        return null;
    }

    /** What {@code shardflake.password} would be. */
    default @Nullable String password() {
        return null;
    }
}
