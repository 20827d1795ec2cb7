/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.gateway;

/** Names in SQL. */
final class Identifiers {

    private Identifiers() {}

    static String quote(String name) {
        return '"' + name.replace("\"", "\"\"") + '"';
    }
}
