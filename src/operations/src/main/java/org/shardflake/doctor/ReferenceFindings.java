/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.PROBLEM;

import java.util.List;
import java.util.Map;
import org.shardflake.reference.ReferenceCheck;
import org.shardflake.server.ServerUrl;

/** Finds servers whose reference tables differ, or that do not receive writes to them. */
final class ReferenceFindings {

    private ReferenceFindings() {}

    static List<Finding> of(ServerUrl catalog, Map<String, ServerUrl> urls) {
        return ReferenceCheck.run(catalog, urls).stream()
                .map(found -> Finding.of(PROBLEM, found.server(), found.name(), found.found(), found.remedy()))
                .toList();
    }
}
