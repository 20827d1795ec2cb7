/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.testcontainers.DockerClientFactory;

@EnabledIfSystemProperty(
        named = "postgres.provider",
        matches = "testcontainers",
        disabledReason = "needs a Docker engine: run with -Dpostgres.provider=testcontainers")
class ContainerClusterIT implements OwnedClusterContract {
    @Override
    public PostgresProvider provider() {
        return PostgresProvider.TESTCONTAINERS;
    }

    @Override
    public List<String> remains(String trace) {
        return DockerClientFactory.lazyClient()
                .listContainersCmd()
                .withShowAll(true)
                .withLabelFilter(Map.of(DockerClientFactory.TESTCONTAINERS_SESSION_ID_LABEL, trace))
                .exec()
                .stream()
                .map(container -> Arrays.toString(container.getNames()))
                .filter(name -> !name.contains("ryuk"))
                .toList();
    }
}
