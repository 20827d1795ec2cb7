/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.server.ServerUrl;

/** A command on reference tables as a process of its own, which can be killed. */
final class ReferenceProcess {

    private ReferenceProcess() {}

    /** Takes catalog, "move" or "delete", the new home or the country, and names and URLs of all servers in turn. */
    public static void main(String[] args) {
        Map<String, ServerUrl> urls = new LinkedHashMap<>();
        for (int i = 3; i < args.length; i += 2) {
            urls.put(args[i], ServerUrl.parse(args[i + 1]));
        }
        ReferenceTables tables = new ReferenceTables(ServerUrl.parse(args[0]), urls);
        System.out.println("begun");
        if (args[1].equals("move")) {
            tables.move(args[2]);
        } else {
            tables.delete("country", List.of(args[2]));
        }
    }
}
