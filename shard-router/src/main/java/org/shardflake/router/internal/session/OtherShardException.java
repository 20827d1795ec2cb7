/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.io.Serial;
import java.sql.SQLException;

/** Work on one shard met a row of another shard that has already left the old database. Another try would meet it again. */
public final class OtherShardException extends SQLException {

    @Serial
    private static final long serialVersionUID = 1L;

    OtherShardException(int shard, SQLException cause) {
        super(
                "work on shard %s met a row of another shard, which it cannot change: %s"
                        .formatted(shard, cause.getMessage()),
                cause.getSQLState(),
                cause);
    }
}
