/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/**
 * Changes are lost, so that reading on would skip them: a slot is gone, or has lost the log that the reader needs, or something changed shards
 * without the journal. The reader has to begin again, with a snapshot.
 */
public final class ChangesLostException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    ChangesLostException(String message) {
        super(
                Kind.FAILURE,
                message,
                "drop the reader's slots on all servers with ChangeReader.drop, and begin again with ChangeReader.beginWithSnapshot",
                null);
    }
}
