/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import java.io.Serial;
import java.sql.SQLException;
import org.shardflake.ShardflakeException;

/** The catalog refused a change that would have made the shard map invalid; nothing was changed. */
public final class CatalogRuleException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    CatalogRuleException(String message, SQLException cause) {
        super(Kind.PRECONDITION, message, null, cause);
    }
}
