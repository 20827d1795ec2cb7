/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import org.shardflake.IdLayout;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.CatalogMissingException;
import org.shardflake.catalog.CatalogUnavailableException;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cli.command.option.CatalogOrigin;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.config.Setting;
import org.shardflake.cli.error.CliException;
import org.shardflake.server.ServerUrl;
import picocli.CommandLine.Model.CommandSpec;

/** The id layout that a catalog has recorded. */
final class CatalogEpoch {

    private CatalogEpoch() {}

    /**
     * Reads the layout from a catalog, or from its standby.
     *
     * @throws CliException if it cannot be asked: a time by another epoch would be wrong by years
     */
    static IdLayout read(CommandSpec command, Setting origin) {
        CatalogOrigin.tell(command, origin);
        ServerUrl url = Invocation.of(command).url(origin.value());
        try {
            return ShardCatalog.at(url.toRead(() -> {})).load().layout();
        } catch (CatalogMissingException e) {
            if (CatalogOrigin.isOfLibpq(origin)) {
                return IdLayout.DEFAULT; // These variables may be there for psql.
            }
            throw e;
        } catch (CatalogUnavailableException e) {
            throw new CliException(
                    Kind.FAILURE,
                    "the catalog has the epoch of the ids, but cannot be reached: " + e.getMessage(),
                    "give the epoch, such as --epoch %s, which init takes by default"
                            .formatted(IdLayout.DEFAULT.epoch()),
                    e);
        }
    }
}
