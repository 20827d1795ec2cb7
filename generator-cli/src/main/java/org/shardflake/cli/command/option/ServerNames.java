/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.util.Iterator;
import java.util.List;

/** A placeholder for server names in completion scripts, which look them up when the tab key is pressed. */
public final class ServerNames implements Iterable<String> {

    /** The text in scripts that stands for server names. */
    public static final String PLACEHOLDER = "@SERVERS@";

    @Override
    public Iterator<String> iterator() {
        return List.of(PLACEHOLDER).iterator();
    }
}
