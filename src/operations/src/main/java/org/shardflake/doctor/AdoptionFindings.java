/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.WARNING;

import java.util.List;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.move.OpenAdoptions;
import org.shardflake.server.ServerUrl;

/** Finds adoptions that are not done, which keep shards from being moved. */
final class AdoptionFindings {

    private AdoptionFindings() {}

    static List<Finding> of(ServerUrl catalog) {
        return new OpenAdoptions(catalog)
                .list().stream()
                        .map(adoption -> Finding.of(
                                WARNING,
                                "catalog",
                                "adoption",
                                "%s since %s; until it ends, no shard can be moved"
                                        .formatted(adoption, adoption.begunAt()),
                                Advice.of(
                                        "end it with %s, or give it up with %s; if it was begun with a plan, with the same options of %s; if that database is gone for good, DELETE FROM shardflake_catalog.adoption WHERE id = '%s'",
                                        CliCommand.ADOPT_FINISH.with(adoption.table()),
                                        CliCommand.ADOPT_CANCEL.with(adoption.table()),
                                        CliCommand.ADOPT_RUN,
                                        adoption.id())))
                        .toList();
    }
}
