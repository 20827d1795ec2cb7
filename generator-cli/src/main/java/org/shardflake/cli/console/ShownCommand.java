/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import com.fasterxml.jackson.annotation.JsonValue;
import org.shardflake.CliCommand;

/**
 * A command that the page shows.
 *
 * @param text as a terminal takes it, with the catalog if that has to be given
 */
public record ShownCommand(CliCommand command, String text) {

    @JsonValue
    @Override
    public String toString() {
        return text;
    }
}
