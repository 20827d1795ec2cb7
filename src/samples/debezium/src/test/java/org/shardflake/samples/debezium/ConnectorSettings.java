/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.debezium;

import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import org.shardflake.cdc.ShardRouting;

/** The settings of Debezium's connector for one server, as the guide has them. */
final class ConnectorSettings {

    private ConnectorSettings() {}

    /**
     * @param server the name in the shard map
     * @param database the URI, with user and password
     */
    static Map<String, String> of(String server, String database, String slot) {
        URI uri = URI.create(database);
        String[] user = uri.getUserInfo().split(":", 2);
        Map<String, String> settings = new HashMap<>(Map.of(
                "name",
                server,
                "connector.class",
                "io.debezium.connector.postgresql.PostgresConnector",
                "database.hostname",
                uri.getHost(),
                "database.port",
                String.valueOf(uri.getPort()),
                "database.user",
                user[0],
                "database.password",
                user.length > 1 ? user[1] : "",
                "database.dbname",
                uri.getPath().substring(1)));
        settings.putAll(Map.of(
                "topic.prefix", server,
                "plugin.name", "pgoutput",
                "slot.name", slot,
                "publication.name", "shardflake_cdc",
                "publication.autocreate.mode", "disabled",
                "snapshot.mode", "no_data",
                "message.prefix.include.list", "shardflake",
                "message.key.columns", "shard_[0-9]+[.]account:id;shard_[0-9]+[.]tag:account_id,name",
                "poll.interval.ms", "10",
                "tombstones.on.delete", "false"));
        settings.put("retriable.restart.connector.wait.ms", "500");
        settings.putAll(Map.of(
                "transforms",
                "shards",
                "transforms.shards.type",
                ShardRouting.class.getName(),
                "transforms.shards.server",
                server,
                "transforms.shards.topic.prefix",
                "photos"));
        return settings;
    }
}
