/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.Objects;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.restore.RestorePoints;

/** The restore points of the catalog. */
final class RestorePointMixin extends CatalogMixin {

    RestorePoints points() {
        ShardCatalog named = catalog(); // refuses if there is none
        return new RestorePoints(Objects.requireNonNull(given(), named::toString), server -> parse(server.url()));
    }
}
