/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.WARNING;

import java.util.List;
import org.shardflake.gateway.Gateway;
import org.shardflake.gateway.Gateways;
import org.shardflake.server.ServerUrl;

/** Whether gateways have followed the shards, as far as the catalog knows. */
final class GatewayFindings {

    private GatewayFindings() {}

    static List<Finding> of(ServerUrl catalog) {
        return new Gateways(catalog, ServerUrl::parse)
                .all().stream()
                        .filter(Gateway::isBehind)
                        .map(gateway -> Finding.of(
                                WARNING,
                                "catalog",
                                "gateway-behind",
                                "gateway %s at %s has not followed shards that moved, so its queries fail%s"
                                        .formatted(
                                                gateway.name(),
                                                gateway.url(),
                                                gateway.problem()
                                                        .map(problem -> ": " + problem)
                                                        .orElse("")),
                                "shardflake gateway refresh %s, or gateway drop".formatted(gateway.name())))
                        .toList();
    }
}
