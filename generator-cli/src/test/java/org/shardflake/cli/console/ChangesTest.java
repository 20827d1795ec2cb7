/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.OutputStream;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.CliCommand;

class ChangesTest {

    /** Its last line would be "runs" for ever, and no other change could be made. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aChangeThatFailsUnexpectedlyIsToldToHaveEnded(boolean isError) throws Exception {
        RunnableCommands offers = new RunnableCommands(command -> true);
        offers.show("part", List.of(new ShownCommand(CliCommand.DOCTOR, "shardflake doctor")));
        String offer = String.valueOf(offers.all().get("shardflake doctor"));
        LinkedBlockingQueue<Map<String, Object>> told = new LinkedBlockingQueue<>();
        try (Changes changes = new Changes(offers, new Failing(isError), told::add)) {
            Changes.Answer shown = changes.tryOut(offer);
            assertThat(changes.run(String.valueOf(shown.facts().get("number")), "")
                            .status())
                    .isEqualTo(202);

            assertThat(told.poll(1, TimeUnit.MINUTES)).containsEntry("state", "runs");
            assertThat(told.poll(1, TimeUnit.MINUTES))
                    .containsEntry("state", "ended")
                    .containsEntry("exitCode", 1);
        }
    }

    private record Failing(boolean isError) implements Operator {

        @Override
        public boolean canRun(CliCommand command) {
            return true;
        }

        @Override
        public Trial tryOut(ShownCommand command) {
            return new Trial(command.text(), "", "", new Outcome(0, "ok", false));
        }

        @Override
        public boolean agrees(String answer) {
            return true;
        }

        @Override
        public void record(String line) {}

        @Override
        public Outcome run(CliCommand command, String question, OutputStream output) {
            if (isError) {
                throw new AssertionError("a test");
            }
            throw new IllegalStateException("a test");
        }
    }
}
