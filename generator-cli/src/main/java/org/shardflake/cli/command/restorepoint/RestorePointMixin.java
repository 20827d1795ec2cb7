/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.restorepoint;

import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.restore.RestorePoints;

/** The options of commands on restore points of the catalog. */
final class RestorePointMixin extends CatalogMixin {

    RestorePoints points() {
        return new RestorePoints(url(), this::urlOf);
    }
}
