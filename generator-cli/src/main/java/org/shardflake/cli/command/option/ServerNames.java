/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.util.Iterator;
import java.util.List;

/** A placeholder in completion scripts for the names of the servers, which are looked up when the tab key is pressed. */
public final class ServerNames implements Iterable<String> {

    /** The text that the script has in its place. */
    public static final String PLACEHOLDER = "@SERVERS@";

    @Override
    public Iterator<String> iterator() {
        return List.of(PLACEHOLDER).iterator();
    }
}
