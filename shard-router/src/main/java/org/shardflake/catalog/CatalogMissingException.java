/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import java.io.Serial;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;

/** The database answers, but has no catalog, or a catalog without a shard map. */
public final class CatalogMissingException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private CatalogMissingException(String message, @Nullable SQLException cause) {
        super(Kind.PRECONDITION, message, Advice.of("create it with %s", CliCommand.INIT), cause);
    }

    static CatalogMissingException noMap() {
        return new CatalogMissingException("the catalog has no shard map yet", null);
    }

    static CatalogMissingException noSchema(ShardCatalog catalog, SQLException cause) {
        return new CatalogMissingException("%s has no schema shardflake_catalog".formatted(catalog), cause);
    }
}
