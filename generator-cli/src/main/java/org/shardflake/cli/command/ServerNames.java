/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.Iterator;
import java.util.List;

/** Stands in completion scripts for the names of the servers, which are asked for when somebody presses the tab key. */
final class ServerNames implements Iterable<String> {

    /** What the script has in its place. */
    static final String PLACEHOLDER = "@SERVERS@";

    @Override
    public Iterator<String> iterator() {
        return List.of(PLACEHOLDER).iterator();
    }
}
