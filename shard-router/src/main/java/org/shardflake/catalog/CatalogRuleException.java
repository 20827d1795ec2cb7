/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import java.io.Serial;
import java.sql.SQLException;
import org.shardflake.ShardflakeException;

/** A change that would have made the shard map impossible, refused by the catalog, which is as it was before. */
public final class CatalogRuleException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    CatalogRuleException(String message, SQLException cause) {
        super(Kind.PRECONDITION, message, null, cause);
    }
}
