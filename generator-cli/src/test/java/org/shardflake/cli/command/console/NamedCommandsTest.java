/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.console;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cli.Shardflake;

class NamedCommandsTest {

    private final NamedCommands commands = new NamedCommands(Shardflake.allCommands());

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            nullValues = "-",
            value = {
                "deploy it with --fix, or with shardflake schema deploy | schema deploy",
                "write the map with shardflake doctor --propose-map map.yaml, look at it, then shardflake map import map.yaml --yes | doctor --propose-map map.yaml;map import map.yaml --yes",
                "go on with shardflake move start --shards 1-3,7 --to db2 | move start --shards 1-3,7 --to db2",
                "End the move with shardflake move cancel 3 --keep-moved, which compares before it removes one | move cancel 3 --keep-moved",
                "if nobody works on it, run shardflake server split db1 again, or give it up with --cancel | server split db1",
                "see shardflake move status; a slot that is lost means to cancel the move | move status",
                "shardflake server change db1 --application-url URL | server change db1 --application-url URL",
                "shardflake reference move --to db2 finishes that, --to db1 cancels it | reference move --to db2",
                "shardflake reference repair brings it in order | reference repair",
                "if no other catalog has the move, as after a restore: shardflake reconcile --forget m12 | reconcile --forget m12",
                "then shardflake schema check keeps others out | schema check",
                "use the newer shardflake that deployed it | -",
                "do it (shardflake upgrade). | upgrade",
                "shardflake reference delete city 'New York' | reference delete city 'New York'",
                "if no command does that now: shardflake reference delete place Paris 'it'\\''s, (x)' Rome | reference delete place Paris 'it'\\''s, (x)' Rome"
            })
    void theyAreFoundWithTheirArguments(String sentence, String expected) {
        assertThat(String.join(";", commands.in(sentence))).isEqualTo(expected == null ? "" : expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"plain", "New York", "it's", "''", "a,b:c=d", "$(x) `y`"})
    void aQuotedWordIsReadAsItWas(String word) {
        assertThat(NamedCommands.unquoted("move start " + NamedCommands.quoted(word) + " --to db2"))
                .containsExactly("move", "start", word, "--to", "db2");
    }
}
