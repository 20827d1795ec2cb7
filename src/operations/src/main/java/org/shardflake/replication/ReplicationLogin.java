/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.replication;

import java.util.Map;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.server.ServerUrl;

/** The login of subscriptions, which keep the password that they are created with. */
public final class ReplicationLogin {

    public static final String REMEDY =
            "set SHARDFLAKE_REPLICATION_USER and SHARDFLAKE_REPLICATION_PASSWORD to a role with REPLICATION and a password that lasts; without the latter, the subscribing server needs it in its own ~/.pgpass";

    private ReplicationLogin() {}

    /** The problem that arises if a server's passwords expire. */
    public static String expires(String publisher) {
        return "a subscription would keep a password of %s that expires, since passwords come from a password command or another source"
                .formatted(publisher);
    }

    /**
     * Requires passwords that last, or a separate login for replication, if there are several servers.
     *
     * @param servers by name
     * @throws ShardflakeException if one of several servers has only passwords that expire
     */
    public static void require(Map<String, ServerUrl> servers) {
        servers.forEach((name, url) -> {
            if (servers.size() > 1 && url.lacksReplicationLogin()) {
                throw new ShardflakeException(Kind.PRECONDITION, expires(name), REMEDY, null);
            }
        });
    }
}
