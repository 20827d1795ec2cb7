/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/** The location of the catalog, if a source other than the properties provides it, such as a container in a test. */
public interface ShardflakeConnectionDetails extends ConnectionDetails {

    /** Replaces {@code shardflake.catalog}. */
    String catalog();

    /** Replaces {@code shardflake.username}. */
    default @Nullable String username() {
        return null;
    }

    /** Replaces {@code shardflake.password}. */
    default @Nullable String password() {
        return null;
    }
}
