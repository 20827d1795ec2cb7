/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.cdc;

import org.shardflake.changes.ChangeStream;
import org.shardflake.cli.command.option.CatalogMixin;

/** The options of commands on the change stream of the catalog's servers. */
final class CdcMixin extends CatalogMixin {

    ChangeStream stream() {
        return new ChangeStream(url(), this::urlOf, this::say);
    }
}
