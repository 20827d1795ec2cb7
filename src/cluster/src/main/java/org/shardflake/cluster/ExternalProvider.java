/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.util.List;

/** Provides servers that run elsewhere. */
final class ExternalProvider implements ServerProvider {
    private final List<PostgresUrl> urls;
    private int used;

    ExternalProvider(List<String> urls) {
        this.urls = urls.stream().map(PostgresUrl::parse).toList();
    }

    @Override
    public ClusterServer newServer(String name) {
        if (used == urls.size()) {
            throw new PostgresClusterException(
                    "no URL for " + name + ": postgres.urls names " + urls.size() + " servers");
        }
        return new ExternalServer(name, urls.get(used++));
    }

    @Override
    public void close() {}
}
