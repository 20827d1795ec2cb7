/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.PROBLEM;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.changes.ChangeStream;
import org.shardflake.changes.ChangeStreamStatus;
import org.shardflake.changes.ServerStream;
import org.shardflake.jdbc.Plural;

/** Finds servers whose change stream has too many or too few tables of shards. */
final class ChangeStreamFindings {

    private ChangeStreamFindings() {}

    static List<Finding> of(ObservedState observed, DoctorConnections access) throws SQLException {
        List<ChangeStreamStatus> all = new ArrayList<>();
        for (String name : observed.facts().keySet()) {
            access.onServer(name, connection -> all.add(new ServerStream(name, connection).status(observed.map())));
        }
        List<Finding> findings = new ArrayList<>();
        if (all.stream().noneMatch(ChangeStreamStatus::isThere)) {
            return findings;
        }
        for (ChangeStreamStatus status : all) {
            if (!status.isThere()) {
                add(findings, status, "has no publication %s, as others have".formatted(ChangeStream.PUBLICATION));
            }
            if (!status.missing().isEmpty()) {
                add(
                        findings,
                        status,
                        "publication %s lacks %s of shards that are here, whose changes readers do not get: %s"
                                .formatted(
                                        ChangeStream.PUBLICATION,
                                        Plural.of(status.missing().size(), "table"),
                                        status.missing().get(0)));
            }
            if (!status.surplus().isEmpty()) {
                add(
                        findings,
                        status,
                        "publication %s has %s of shards that are elsewhere, whose changes readers get twice: %s"
                                .formatted(
                                        ChangeStream.PUBLICATION,
                                        Plural.of(status.surplus().size(), "table"),
                                        status.surplus().get(0)));
            }
            for (ChangeStreamStatus.Reader reader : status.readers()) {
                if (reader.isLost()) {
                    findings.add(
                            Finding.of(
                                    PROBLEM,
                                    status.server(),
                                    "change-stream-lost",
                                    "slot %s has lost the log that its reader needs, and with it changes"
                                            .formatted(reader.slot()),
                                    "drop the reader's slots on all servers, and have it begin again with what the tables have"));
                }
            }
        }
        return findings;
    }

    private static void add(List<Finding> findings, ChangeStreamStatus status, String what) {
        findings.add(Finding.of(
                PROBLEM,
                status.server(),
                "change-stream-publication",
                what,
                Advice.of(
                        "put it right with %s; readers have to begin again with the tables named there",
                        CliCommand.CDC_CREATE)));
    }
}
