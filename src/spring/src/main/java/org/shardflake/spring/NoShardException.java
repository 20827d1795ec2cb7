/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.io.Serial;
import java.sql.SQLException;

/** A statement was given to the application's {@code DataSource} by a thread that is on no shard. */
final class NoShardException extends SQLException {

    @Serial
    private static final long serialVersionUID = 1L;

    NoShardException() {
        super(CurrentShardDataSource.NO_SHARD, "08003");
    }
}
