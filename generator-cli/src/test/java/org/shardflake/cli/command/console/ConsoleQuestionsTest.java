/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.shardflake.CliCommand.DOCTOR;
import static org.shardflake.CliCommand.MOVE_CANCEL;
import static org.shardflake.CliCommand.MOVE_CANCEL_LOST;
import static org.shardflake.CliCommand.SCHEMA_RECREATE;

import java.util.List;
import org.junit.jupiter.api.Test;

class ConsoleQuestionsTest {

    @Test
    void whatGivesRowsUpIsOfferedLast() {
        assertThat(ConsoleQuestions.safestFirst(
                        List.of(SCHEMA_RECREATE.with("7"), MOVE_CANCEL_LOST.with(1), MOVE_CANCEL.with(1), DOCTOR)))
                .containsExactly(MOVE_CANCEL.with(1), DOCTOR, SCHEMA_RECREATE.with("7"), MOVE_CANCEL_LOST.with(1));
    }
}
